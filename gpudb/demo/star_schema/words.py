"""The word lists of the star schema benchmark's columns."""

from __future__ import annotations

import itertools

import pyarrow as pa

MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()
ADDRESS_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ,"

NATIONS = (
    ("ALGERIA", "AFRICA"),
    ("ARGENTINA", "AMERICA"),
    ("BRAZIL", "AMERICA"),
    ("CANADA", "AMERICA"),
    ("EGYPT", "MIDDLE EAST"),
    ("ETHIOPIA", "AFRICA"),
    ("FRANCE", "EUROPE"),
    ("GERMANY", "EUROPE"),
    ("INDIA", "ASIA"),
    ("INDONESIA", "ASIA"),
    ("IRAN", "MIDDLE EAST"),
    ("IRAQ", "MIDDLE EAST"),
    ("JAPAN", "ASIA"),
    ("JORDAN", "MIDDLE EAST"),
    ("KENYA", "AFRICA"),
    ("MOROCCO", "AFRICA"),
    ("MOZAMBIQUE", "AFRICA"),
    ("PERU", "AMERICA"),
    ("CHINA", "ASIA"),
    ("ROMANIA", "EUROPE"),
    ("SAUDI ARABIA", "MIDDLE EAST"),
    ("VIETNAM", "ASIA"),
    ("RUSSIA", "EUROPE"),
    ("UNITED KINGDOM", "EUROPE"),
    ("UNITED STATES", "AMERICA"),
)

SEGMENTS = pa.array(["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"])
PRIORITIES = pa.array(["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW"])
SHIP_MODES = pa.array(["REG AIR", "AIR", "RAIL", "TRUCK", "MAIL", "FOB", "SHIP"])

COLORS = pa.array(
    (
        "almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished "
        "chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab "
        "firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory "
        "khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint misty "
        "moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red "
        "rose rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle "
        "tomato turquoise violet wheat white yellow"
    ).split()
)

TYPES = pa.array(
    [
        " ".join(words)
        for words in itertools.product(
            ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
            ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
            ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
        )
    ]
)

CONTAINERS = pa.array(
    [
        " ".join(words)
        for words in itertools.product(
            ("SM", "LG", "MED", "JUMBO", "WRAP"), ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
        )
    ]
)
