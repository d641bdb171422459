// Fields of csv text without quotes: a thread parses a row's field of one column.
//
// `ends` has the position of the separator after each field, row by row. Only forms that every reader takes alike are
// parsed: -?digits, -?digits.digits, true and false, YYYY-MM-DD. Another form sets `refused`, and the column is read
// elsewhere. An empty field is NULL.

typedef long long int64;
typedef unsigned long long uint64;

enum Kind { INTEGER, NUMERIC, FLOAT, BOOLEAN, DATE };

struct Digits {
    uint64 value;  // all digits, without the point
    int count;     // digits after leading zeros
    int scale;     // digits after the point
    bool negative;
    bool valid;
};

__device__ static Digits parse_digits(const unsigned char* text, int64 size, bool point_allowed) {
    Digits found = {0, 0, 0, false, false};
    int64 at = 0;
    if (size > 0 && text[0] == '-') {
        found.negative = true;
        at = 1;
    }
    bool digit = false, point = false;
    for (; at < size; at++) {
        const unsigned char each = text[at];
        if (each >= '0' && each <= '9') {
            digit = true;
            found.value = found.value * 10 + (each - '0');
            found.count += found.count > 0 || each != '0';
            found.scale += point;
            if (found.count > 18 || found.scale > 22) return found;
        } else if (each == '.' && point_allowed && !point && digit) {
            point = true;
        } else {
            return found;
        }
    }
    // "5." is left to others
    found.valid = digit && (!point || found.scale > 0);
    return found;
}

__device__ static bool parse_date(const unsigned char* text, int64 size, int64* days) {
    if (size != 10 || text[4] != '-' || text[7] != '-') return false;
    int parts[3] = {0, 0, 0};
    for (int at = 0; at < 10; at++) {
        if (at == 4 || at == 7) continue;
        if (text[at] < '0' || text[at] > '9') return false;
        int* part = &parts[at < 4 ? 0 : at < 7 ? 1 : 2];
        *part = *part * 10 + (text[at] - '0');
    }
    const int year = parts[0], month = parts[1], day = parts[2];
    if (year < 1 || month < 1 || month > 12 || day < 1) return false;
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    const int lengths[12] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (day > lengths[month - 1]) return false;
    // Days since 1 March of year 0, from which leap days are at the end of a year
    const int shifted = month <= 2 ? year - 1 : year;
    const int era = shifted / 400, of_era = shifted - era * 400;
    const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    *days = (int64)era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return true;
}

__device__ static bool equals(const unsigned char* text, int64 size, const char* word) {
    for (int64 at = 0; at < size; at++)
        if (text[at] != word[at]) return false;  // a word ends with 0, which no field has
    return word[size] == 0;
}

__device__ static bool parse_field(
    const unsigned char* text, int64 size, int kind, int scale, int64 limit, int64* value
) {
    if (kind == DATE) return parse_date(text, size, value);
    if (kind == BOOLEAN) {
        *value = equals(text, size, "true");
        return size >= 4 && size <= 5 && (*value || equals(text, size, "false"));
    }
    const Digits found = parse_digits(text, size, kind != INTEGER);
    if (!found.valid) return false;
    if (kind == FLOAT) {
        // A quotient of exact numbers is rounded once: as exact as any parser's
        if (found.value > (1ull << 53)) return false;
        double divisor = 1.0;
        for (int digit = 0; digit < found.scale; digit++) divisor *= 10.0;
        const double magnitude = (double)found.value / divisor;
        *(double*)value = found.negative ? -magnitude : magnitude;
        return true;
    }
    if (found.scale > scale) return false;
    int64 magnitude = (int64)found.value;
    for (int digit = found.scale; digit < scale; digit++) {
        if (magnitude > limit / 10) return false;  // before it exceeds 64 bits
        magnitude *= 10;
    }
    if (magnitude > limit) return false;
    *value = found.negative ? -magnitude : magnitude;
    return true;
}

extern "C" __global__ void __launch_bounds__(256) parse_csv(
    const unsigned char* data, const int64* ends, int64 rows, int columns, int column, int kind, int scale,
    int64 limit, int64* values, unsigned char* valid, int* refused
) {
    const int64 row = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int64 field = row * columns + column;
    const int64 first = field ? ends[field - 1] + 1 : 0, last = ends[field];
    int64 value = 0;
    const bool there = last > first;
    if (there && !parse_field(data + first, last - first, kind, scale, limit, &value)) *refused = 1;
    values[row] = value;
    valid[row] = there;
}

extern "C" __global__ void __launch_bounds__(256) measure_csv(
    const int64* ends, int64 rows, int columns, int column, int64* lengths, unsigned char* valid
) {
    const int64 row = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int64 field = row * columns + column;
    const int64 length = ends[field] - (field ? ends[field - 1] + 1 : 0);
    lengths[row] = length;
    valid[row] = length > 0;
}

extern "C" __global__ void __launch_bounds__(256) copy_csv(
    const unsigned char* data, const int64* ends, int64 rows, int columns, int column, const int64* offsets,
    unsigned char* texts
) {
    const int64 row = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const int64 field = row * columns + column;
    const int64 first = field ? ends[field - 1] + 1 : 0;
    for (int64 at = offsets[row]; at < offsets[row + 1]; at++) texts[at] = data[first + at - offsets[row]];
}
