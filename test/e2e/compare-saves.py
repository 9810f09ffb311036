"""Compares two NPZ archives: names, types, shapes, and values up to a tolerance relative to 1 + |value|.

Usage: compare-saves.py FOUND EXPECTED TOLERANCE"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from compare import compareSaves

found, expected, tolerance = sys.argv[1:]
sys.exit(compareSaves(found, expected, float(tolerance)) or print("equal"))
