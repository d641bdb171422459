"""Files in the manner of well-known public data, made by a seed: flights, taxi rides, passengers of a ship, a shop.

They have what the public ones trip over: NA for what is missing, quoted commas, names in mixed case, times in American
order, cancelled orders of negative quantity. The frames that are returned have the same rows for checks.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd

FLIGHTS = 20_000
RIDES = 30_000
PASSENGERS = 891
ORDER_LINES = 12_000

CARRIERS = {
    "UA": "United Air Lines Inc.",
    "B6": "JetBlue Airways",
    "EV": "ExpressJet Airlines Inc.",
    "DL": "Delta Air Lines Inc.",
    "AA": "American Airlines Inc.",
}
ORIGINS = ("EWR", "JFK", "LGA")
AIRPORTS = {
    "EWR": ("Newark Liberty Intl", 40.6925, -74.168667),
    "JFK": ("John F Kennedy Intl", 40.639751, -73.778925),
    "LGA": ("La Guardia", 40.777245, -73.872608),
    "ATL": ("Hartsfield Jackson Atlanta Intl", 33.636719, -84.428067),
    "ORD": ("Chicago Ohare Intl", 41.978603, -87.904842),
    "LAX": ("Los Angeles Intl", 33.942536, -118.408075),
    "MIA": ("Miami Intl", 25.79325, -80.290556),
    "HNL": ("Honolulu Intl", 21.318681, -157.922428),
}
BOROUGHS = ("Manhattan", "Brooklyn", "Queens", "Bronx", "Staten Island")


def write_flights(folder: Path, seed: int = 2013) -> pd.DataFrame:
    """Writes flights.csv, airlines.csv and airports.csv, with NA for what is missing; returns the flights."""
    random = np.random.default_rng(seed)
    minute = np.sort(random.integers(0, 365 * 1440, FLIGHTS))
    scheduled = pd.Timestamp("2013-01-01") + pd.to_timedelta(minute, unit="min")
    origin, destination = random.choice(ORIGINS, FLIGHTS), random.choice(list(AIRPORTS)[3:], FLIGHTS)
    distance = np.array([_miles(*pair) for pair in zip(origin, destination, strict=True)])
    delay = np.round(random.exponential(18, FLIGHTS) - 8).astype(int)
    cancelled = random.random(FLIGHTS) < 0.025
    flights = pd.DataFrame(
        {
            "year": scheduled.year,
            "month": scheduled.month,
            "day": scheduled.day,
            "dep_time": pd.Series(scheduled.hour * 100 + scheduled.minute, dtype="Int64").mask(cancelled),
            "dep_delay": pd.Series(delay, dtype="Int64").mask(cancelled),
            "arr_delay": pd.Series(delay + random.integers(-20, 15, FLIGHTS), dtype="Int64").mask(cancelled),
            "carrier": random.choice(list(CARRIERS), FLIGHTS, p=[0.25, 0.25, 0.2, 0.15, 0.15]),
            "flight": random.integers(1, 6000, FLIGHTS),
            "tailnum": pd.Series([f"N{n}" for n in random.integers(100, 999, FLIGHTS)]).mask(cancelled),
            "origin": origin,
            "dest": destination,
            "air_time": pd.Series(np.round(distance / 7.5), dtype="Int64").mask(cancelled),
            "distance": distance,
            "time_hour": scheduled.floor("h"),
        }
    )
    flights.to_csv(folder / "flights.csv", index=False, na_rep="NA")
    airlines = pd.DataFrame({"carrier": CARRIERS.keys(), "name": CARRIERS.values()})
    airlines.to_csv(folder / "airlines.csv", index=False)
    airports = pd.DataFrame([(faa, *about) for faa, about in AIRPORTS.items()], columns=["faa", "name", "lat", "lon"])
    airports.to_csv(folder / "airports.csv", index=False)
    return flights


def _miles(origin: str, destination: str) -> int:
    (_, south, west), (_, north, east) = AIRPORTS[origin], AIRPORTS[destination]
    return round(69 * float(np.hypot(north - south, (east - west) * np.cos(np.radians((north + south) / 2)))))


def write_taxi(folder: Path, seed: int = 2024) -> pd.DataFrame:
    """Writes yellow_tripdata_2024-01.parquet and -02, and taxi_zone_lookup.csv; returns the rides."""
    random = np.random.default_rng(seed)
    pickup = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(random.integers(0, 60 * 86400, RIDES)), unit="s")
    miles = np.round(random.exponential(3, RIDES) + 0.3, 2)
    seconds = (miles * 300 + random.integers(60, 600, RIDES)).astype(int)
    fare = np.round(3 + miles * 2.5 + seconds / 180, 2)
    card = random.random(RIDES) < 0.7
    rides = pd.DataFrame(
        {
            "VendorID": random.integers(1, 3, RIDES).astype(np.int32),
            "tpep_pickup_datetime": pickup.astype("datetime64[us]"),
            "tpep_dropoff_datetime": (pickup + pd.to_timedelta(seconds, unit="s")).astype("datetime64[us]"),
            "passenger_count": pd.Series(random.integers(1, 6, RIDES), dtype="Int64").mask(random.random(RIDES) < 0.05),
            "trip_distance": miles,
            "PULocationID": random.integers(1, 41, RIDES).astype(np.int32),
            "DOLocationID": random.integers(1, 41, RIDES).astype(np.int32),
            "payment_type": np.where(card, 1, 2).astype(np.int64),
            "fare_amount": fare,
            "tip_amount": np.where(card, np.round(fare * random.uniform(0.1, 0.3, RIDES), 2), 0.0),
        }
    )
    for month in (1, 2):
        part = rides[rides.tpep_pickup_datetime.dt.month == month]
        part.to_parquet(folder / f"yellow_tripdata_2024-{month:02}.parquet", index=False)
    zones = [(n, BOROUGHS[n % len(BOROUGHS)], f"Zone {n}, {'East' if n % 2 else 'West'}") for n in range(1, 41)]
    pd.DataFrame(zones, columns=["LocationID", "Borough", "Zone"]).to_csv(folder / "taxi_zone_lookup.csv", index=False)
    return rides


def write_passengers(folder: Path, seed: int = 1912) -> pd.DataFrame:
    """Writes titanic.csv, with empty ages and cabins and commas in quoted names; returns the passengers."""
    random = np.random.default_rng(seed)
    sex = random.choice(["male", "female"], PASSENGERS, p=[0.65, 0.35])
    pclass = random.choice([1, 2, 3], PASSENGERS, p=[0.24, 0.21, 0.55])
    age = np.round(np.clip(random.normal(30, 14, PASSENGERS), 0.5, 80), 1)
    chance = 1 / (1 + np.exp(-(2.6 * (sex == "female") - 1.1 * (pclass - 2) - 0.02 * (age - 30) - 1.2)))
    fare = np.round(random.gamma(2, 12, PASSENGERS) * (4 - pclass) ** 1.5, 4)
    passengers = pd.DataFrame(
        {
            "PassengerId": np.arange(1, PASSENGERS + 1),
            "Survived": (random.random(PASSENGERS) < chance).astype(int),
            "Pclass": pclass,
            "Name": [f'Doe {n}, {"Mr." if s == "male" else "Mrs."} Sam "S{n}"' for n, s in enumerate(sex, 1)],
            "Sex": sex,
            "Age": pd.Series(age).mask(random.random(PASSENGERS) < 0.2),
            "SibSp": random.integers(0, 4, PASSENGERS),
            "Parch": random.integers(0, 3, PASSENGERS),
            "Ticket": [f"A/5 {n}" for n in random.integers(10000, 99999, PASSENGERS)],
            "Fare": fare,
            "Cabin": pd.Series([f"C{n}" for n in random.integers(1, 148, PASSENGERS)]).mask(pclass > 1),
            "Embarked": random.choice(["S", "C", "Q"], PASSENGERS, p=[0.72, 0.19, 0.09]),
        }
    )
    passengers.to_csv(folder / "titanic.csv", index=False)
    return passengers


def write_retail(folder: Path, seed: int = 2010) -> pd.DataFrame:
    """Writes online_retail.csv: lines of invoices, times as month/day/year, C before the numbers of cancellations."""
    random = np.random.default_rng(seed)
    invoice = np.sort(random.integers(0, ORDER_LINES // 5, ORDER_LINES))
    day = dt.datetime(2010, 12, 1, 8, 26)
    times = [day + dt.timedelta(minutes=int(n) * 200) for n in invoice]
    cancels = invoice % 40 == 7
    item = random.integers(0, 200, ORDER_LINES)
    price = np.round(0.4 + (item * 7919 % 1000) / 100, 2)
    lines = pd.DataFrame(
        {
            "InvoiceNo": [f"{'C' if c else ''}{536365 + n}" for n, c in zip(invoice, cancels, strict=True)],
            "StockCode": [f"{20000 + n}{'A' if n % 9 == 0 else ''}" for n in item],
            "Description": [f'"RED" LANTERN, SET OF {n}' if n % 3 else f"MUG №{n}" for n in item],
            "Quantity": random.integers(1, 25, ORDER_LINES) * np.where(cancels, -1, 1),
            "InvoiceDate": [f"{at.month}/{at.day}/{at.year} {at.hour}:{at.minute:02}" for at in times],
            "UnitPrice": price,
            "CustomerID": pd.Series(12346 + invoice % 300, dtype="Int64").mask(invoice % 11 == 3),
            "Country": np.where(invoice % 10 == 0, "France", np.where(invoice % 10 == 1, "EIRE", "United Kingdom")),
        }
    )
    lines.to_csv(folder / "online_retail.csv", index=False)
    return lines
