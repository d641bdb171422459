// Fields of days since 1970 in the proleptic Gregorian calendar, in 32 bits; numpy_backend/calendar.py does the same.
// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013).
#pragma once
#include "columns.cuh"

__device__ __forceinline__ i64 floor_div(i64 a, i64 b) {
    const i64 q = a / b;
    return q - (a - q * b < 0);
}

struct Civil {
    int year, month, day, of_year;
};

__device__ __forceinline__ Civil civil(int days) {
    const int shifted = days + 719468;
    const int era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    const u32 of_era = (u32)(shifted - era * 146097);
    const u32 year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int of_year = (int)(of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100));
    const int part = (5 * of_year + 2) / 153;
    const int month = part < 10 ? part + 3 : part - 9;
    return {(int)year_of_era + era * 400 + (month <= 2), month, of_year - (153 * part + 2) / 5 + 1, of_year};
}

__device__ __forceinline__ int field_year(int days) {
    const int year = civil(days).year;
    return year > 0 ? year : year - 1;  // there is no year 0
}
__device__ __forceinline__ int field_month(int days) { return civil(days).month; }
__device__ __forceinline__ int field_quarter(int days) { return (civil(days).month + 2) / 3; }
__device__ __forceinline__ int field_day(int days) { return civil(days).day; }
__device__ __forceinline__ int field_dow(int days) { return (days % 7 + 11) % 7; }
__device__ __forceinline__ int field_isodow(int days) { return (days % 7 + 10) % 7 + 1; }
__device__ __forceinline__ int field_doy(int days) {
    const Civil c = civil(days);
    const bool leap = (c.year % 4 == 0 && c.year % 100 != 0) || c.year % 400 == 0;
    return c.month <= 2 ? c.of_year - 305 : c.of_year + 60 + leap;
}
