#!/usr/bin/env python3
"""Draws the pictures and makes the sounds of the demo game. Needs Python 3 alone.

    python3 tools/make_assets.py

The same script always writes the same files. After a change, let the editor import them again.
"""

import math
import random
import struct
import wave
import zlib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent

# One palette for everything: a warm evening over teal meadows.
COLORS = {
    "ink": "#2a1a3e",
    "plum": "#4b2a63",
    "violet": "#7b4397",
    "lilac": "#b57edc",
    "rose_dark": "#a82554",
    "rose": "#e8476a",
    "pink": "#ff8f8f",
    "blush": "#ffc9b8",
    "cream": "#fff3d9",
    "gold_dark": "#c9702b",
    "gold": "#f7b03c",
    "gold_light": "#ffe27a",
    "leaf_dark": "#17615e",
    "leaf": "#2ba36f",
    "leaf_light": "#8fdc6a",
    "soil_dark": "#54304f",
    "soil": "#7d4658",
    "soil_light": "#a8655f",
    "wood_dark": "#7a3f4b",
    "wood": "#b96b55",
    "wood_light": "#e6a071",
    "water_dark": "#2b5fa8",
    "water": "#3f95d8",
    "water_light": "#a5e8f2",
    "sky_0": "#3d2f7d",
    "sky_1": "#6a4299",
    "sky_2": "#a6559f",
    "sky_3": "#e0708f",
    "sky_4": "#f99b83",
    "sky_5": "#ffcd94",
    "hill_0": "#8a4d98",
    "hill_1": "#643f8a",
    "hill_2": "#3f3478",
}
COLORS = {name: tuple(bytes.fromhex(text[1:])) + (255,) for name, text in COLORS.items()}
CLEAR = (0, 0, 0, 0)

# ------------------------------------------------------------------- pictures


class Picture:
    """Pixels that are drawn one by one."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.pixels = [CLEAR] * (width * height)

    def put(self, x, y, color):
        if 0 <= x < self.width and 0 <= y < self.height:
            self.pixels[y * self.width + x] = COLORS[color] if isinstance(color, str) else color

    def get(self, x, y):
        inside = 0 <= x < self.width and 0 <= y < self.height
        return self.pixels[y * self.width + x] if inside else CLEAR

    def rect(self, x, y, width, height, color):
        for row in range(y, y + height):
            for column in range(x, x + width):
                self.put(column, row, color)

    def blob(self, x, y, rx, ry, tones, light=(-0.5, -0.6)):
        """An ellipse around (x, y), lit from the upper left: tones go from dark to light."""
        for row in range(self.height):
            for column in range(self.width):
                dx, dy = (column + 0.5 - x) / rx, (row + 0.5 - y) / ry
                if dx * dx + dy * dy > 1.0:
                    continue
                shine = dx * light[0] + dy * light[1]
                index = 0 if shine < -0.42 else 2 if shine > 0.45 else 1
                self.put(column, row, tones[index])

    def outline(self, color="ink"):
        """Puts a line around all that was drawn so far."""
        around = [(-1, 0), (1, 0), (0, -1), (0, 1)]
        edge = [
            (x, y)
            for y in range(self.height)
            for x in range(self.width)
            if self.get(x, y)[3] == 0 and any(self.get(x + i, y + j)[3] for i, j in around)
        ]
        for x, y in edge:
            self.put(x, y, color)

    def text(self, x, y, rows, key):
        """Pixels written as letters; a dot leaves the pixel as it is."""
        for j, row in enumerate(rows):
            for i, letter in enumerate(row):
                if letter != ".":
                    self.put(x + i, y + j, key[letter])

    def paste(self, other, x, y):
        for j in range(other.height):
            for i in range(other.width):
                if other.get(i, j)[3]:
                    self.put(x + i, y + j, other.get(i, j))

    def save(self, path):
        rows = b"".join(
            b"\0" + b"".join(bytes(self.get(x, y)) for x in range(self.width))
            for y in range(self.height)
        )
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 6, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n"
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")):
            data += struct.pack(">I", len(body)) + kind + body
            data += struct.pack(">I", zlib.crc32(kind + body))
        (PROJECT / path).write_bytes(data)


def strip(frames):
    """Frames side by side."""
    sheet = Picture(sum(frame.width for frame in frames), frames[0].height)
    x = 0
    for frame in frames:
        sheet.paste(frame, x, 0)
        x += frame.width
    return sheet


def radish(squash=0.0, lift=0, feet=((-3, 0), (2, 0)), sway=0, eyes="open"):
    """One frame of the player, 24x24, standing on the lowest row."""
    picture = Picture(24, 24)
    rx, ry = 6.2 + squash, 6.0 - squash
    bottom = 21 - lift
    x, y = 12, bottom - ry
    top = round(y - ry)
    # Leaves.
    key = {"d": "leaf_dark", "l": "leaf", "g": "leaf_light"}
    picture.text(6 + sway, top - 6, [".gg......gg.", "glllg..glllg", ".lllll.llll.", "..ldllllld.."], key)
    picture.text(8, top - 2, ["..lll...", "...dl...", "...dl..."], key)
    # Body: red above, cream below.
    picture.blob(x, y, rx, ry, ("rose_dark", "rose", "pink"))
    for row in range(24):
        for column in range(24):
            dx, dy = (column + 0.5 - x) / rx, (row + 0.5 - y) / ry
            if dx * dx + dy * dy <= 1.0 and dy > 0.42 + 0.06 * math.sin(column * 1.9):
                picture.put(column, row, "blush" if dy > 0.72 or dx > 0.5 else "cream")
    # Feet.
    for dx, up in feet:
        picture.rect(x + dx, 21 - up, 3, 2, "violet")
        picture.put(x + dx + 2, 21 - up, "lilac")
    picture.outline()
    # Face, looking right.
    y = round(y) - 1
    if eyes == "open":
        for column in (12, 16):
            picture.rect(column, y - 1, 2, 3, "ink")
            picture.put(column, y - 1, "cream")
        picture.put(14, y + 2, "rose_dark")
        picture.put(15, y + 2, "rose_dark")
    elif eyes == "blink":
        picture.rect(12, y + 1, 2, 1, "ink")
        picture.rect(16, y + 1, 2, 1, "ink")
        picture.put(14, y + 2, "rose_dark")
        picture.put(15, y + 2, "rose_dark")
    else:
        picture.text(11, y - 1, ["i.i.i.i", ".i...i.", "i.i.i.i"], {"i": "ink"})
        picture.rect(14, y + 3, 2, 1, "rose_dark")
    return picture


def draw_player():
    idle = [
        radish(),
        radish(squash=0.3, sway=0),
        radish(squash=0.5, sway=1),
        radish(squash=0.3, eyes="blink"),
    ]
    run = [
        radish(lift=1, feet=((-6, 1), (3, 0)), sway=-1),
        radish(squash=0.4, feet=((-2, 0), (0, 1)), sway=-1),
        radish(lift=1, feet=((-5, 2), (4, 0)), sway=-1),
        radish(squash=0.4, feet=((-1, 1), (-3, 0)), sway=-1),
    ]
    jump = [radish(squash=-0.7, lift=1, feet=((-4, 0), (1, 0)))]
    fall = [radish(squash=-0.2, lift=2, feet=((-5, 1), (3, 1)), sway=1)]
    hurt = [radish(squash=0.6, lift=1, feet=((-6, 1), (4, 1)), eyes="shut")]
    strip(idle + run + jump + fall + hurt).save("player/player.png")


def slime(squash):
    picture = Picture(24, 16)
    rx, ry = 7.0 + squash, 6.0 - squash
    picture.blob(12, 15 - ry, rx, ry, ("water_dark", "water", "water_light"))
    base = round(rx)
    picture.rect(12 - base, 12, 2 * base, 3, "water")
    picture.rect(12 + base - 3, 12, 3, 3, "water_dark")
    picture.rect(12 - base + 1, 14, 2 * base - 2, 1, "water_dark")
    picture.outline()
    y = round(15 - ry)
    for column in (7, 12):
        picture.rect(column, y - 1, 2, 3, "ink")
        picture.put(column, y - 1, "cream")
    picture.rect(9, y + 2, 3, 1, "ink")
    picture.put(14, round(15 - 2 * ry) + 2, "cream")
    return picture


def bat(wing):
    """Wing: -1 down, 0 level, 1 up."""
    picture = Picture(24, 20)
    for column in range(7):
        span = 6 - column
        y = 10 - round(wing * column * 0.9) + (column // 3 if wing < 1 else 0)
        height = 2 + span // 2 + (1 if column % 3 else 0)
        for x in (8 - column, 15 + column):
            picture.rect(x, y - 1, 1, height, "violet")
            picture.put(x, y - 1, "lilac")
    picture.blob(12, 10 + wing, 5.0, 5.0, ("ink", "plum", "violet"))
    top = 4 + wing
    for column, shape in ((7, ["p...", "pp..", "ppp."]), (13, ["...p", "..pp", ".ppp"])):
        picture.text(column, top, shape, {"p": "plum"})
    picture.outline()
    y = 9 + wing
    for column in (9, 13):
        picture.rect(column, y, 2, 2, "gold_light")
        picture.put(column, y + 1, "rose")
    picture.rect(10, y + 4, 1, 1, "cream")
    picture.rect(13, y + 4, 1, 1, "cream")
    return picture


def draw_enemies():
    strip([slime(it) for it in (0.0, 0.6, 1.2, 0.6)]).save("enemies/slime.png")
    strip([bat(it) for it in (1, 0, -1, 0)]).save("enemies/bat.png")


def draw_coin():
    frames = []
    for width in (5.5, 4.2, 2.2, 1.0, 2.2, 4.2):
        picture = Picture(16, 16)
        picture.blob(8, 8, width, 5.5, ("gold_dark", "gold", "gold_light"))
        if width > 2:
            inner = max(1, round(width * 0.3))
            picture.rect(8 - inner // 2 - inner % 2, 5, inner, 6, "gold_dark")
            picture.rect(8 - inner // 2 - inner % 2 + 1, 5, inner, 6, "gold_light")
        picture.outline()
        frames.append(picture)
    strip(frames).save("objects/coin.png")


def draw_flag():
    """A pole of 32x48, and a pennant in four frames that are hung on it."""
    frames = []
    for phase in range(4):
        picture = Picture(32, 48)
        for i in range(19):
            wave_y = round(1.5 * math.sin(i * 0.55 - phase * math.pi / 2) * min(1.0, i / 5))
            half = round((19 - i) * 0.36) + 1
            for j in range(-half, half + 1):
                tone = "pink" if j < -half // 2 else "rose_dark" if j > half // 2 else "rose"
                picture.put(9 + i, 12 + wave_y + j, tone)
        picture.blob(13, 12, 2.2, 2.2, ("gold", "gold_light", "cream"))
        picture.rect(7, 5, 2, 43, "wood_light")
        picture.rect(8, 5, 1, 43, "wood")
        picture.blob(8, 4, 2.5, 2.5, ("gold_dark", "gold", "gold_light"))
        picture.rect(4, 46, 8, 2, "soil_light")
        picture.outline()
        frames.append(picture)
    strip(frames).save("objects/flag.png")


# --- The tile sheet: 8 columns by 5 rows of 16x16 tiles. Its layout is known to tile_set.tres.


def ground_tile(up, right, down, left, seed):
    """A piece of soil; each side says whether the ground goes on there."""
    chance = random.Random(seed)
    picture = Picture(16, 16)
    picture.rect(0, 0, 16, 16, "soil")
    for _ in range(5):
        x, y = chance.randrange(1, 13), chance.randrange(3, 14)
        tone = chance.choice(["soil_dark", "soil_dark", "soil_light"])
        picture.rect(x, y, chance.choice([2, 3]), 1, tone)
        if chance.random() < 0.5:
            picture.rect(x + 1, y + 1, 1, 1, tone)
    if not left:
        picture.rect(1, 0, 1, 16, "soil_light")
        picture.rect(0, 0, 1, 16, "ink")
    if not right:
        picture.rect(13, 0, 2, 16, "soil_dark")
        picture.rect(15, 0, 1, 16, "ink")
    if not down:
        picture.rect(0, 13, 16, 2, "soil_dark")
        picture.rect(0, 15, 16, 1, "ink")
    if not up:
        for x in range(16):
            depth = 5 + round(1.5 * math.sin(x * math.pi / 4) + 0.7 * math.sin(x * math.pi / 2 + 1))
            picture.rect(x, depth, 1, 2, "soil_dark")
            picture.rect(x, 1, 1, depth, "leaf")
            picture.put(x, depth, "leaf_dark")
            picture.rect(x, 0, 1, 1, "ink")
            picture.rect(x, 1, 1, 2 if x % 4 else 3, "leaf_light")
    for side, x in ((left, 0), (right, 15)):
        if not side:
            picture.rect(x, 0, 1, 16, "ink")
            if not up:
                picture.put(x, 0, CLEAR)
                picture.put(x + (1 if x == 0 else -1), 0, CLEAR)
                picture.put(x, 1, CLEAR)
                picture.put(x + (1 if x == 0 else -1), 1, "ink")
            if not down:
                picture.put(x, 15, CLEAR)
    return picture


def plank_tile(left, right):
    picture = Picture(16, 16)
    start, end = (0 if left else 1), (16 if right else 15)
    picture.rect(start, 1, end - start, 5, "wood")
    picture.rect(start, 1, end - start, 1, "wood_light")
    picture.rect(start, 4, end - start, 2, "wood_dark")
    for x in (5, 11):
        picture.rect(x, 1, 1, 5, "wood_dark")
    picture.rect(start, 0, end - start, 1, "ink")
    picture.rect(start, 6, end - start, 1, "ink")
    for side, x, nail in ((left, 0, 2), (right, 15, 13)):
        if not side:
            picture.rect(x, 1, 1, 5, "ink")
            picture.put(nail, 2, "cream")
            picture.rect(nail, 7, 1, 3, "wood_dark")
    return picture


def water_tile(phase, surface):
    picture = Picture(16, 16)
    for x in range(16):
        top = 4 + round(1.4 * math.sin((x / 16 + phase / 4) * 2 * math.pi)) if surface else 0
        for y in range(top, 16):
            picture.put(x, y, COLORS["water" if surface and y < 10 else "water_dark"][:3] + (215,))
        if surface:
            picture.put(x, top, "water_light")
            picture.put(x, top + 1, COLORS["water_light"][:3] + (130,))
    return picture


def decoration(name):
    picture = Picture(16, 16)
    key = {
        "d": "leaf_dark", "l": "leaf", "g": "leaf_light", "c": "cream", "r": "rose", "p": "pink",
        "y": "gold_light", "o": "gold", "w": "wood", "W": "wood_dark", "h": "wood_light",
        "v": "violet", "i": "lilac", "k": "ink",
    }  # fmt: skip
    shapes = {
        "grass": [
            ".g..........g...", ".gl...g....gl...", "..l..gl..g.l..g.", "..ll.l..gl.l.gl.",
            ".gll.ll.ll.llll.", "..llldllldlldl..",
        ],
        "flower": [
            ".....pp.........", "....prrp........", "....prrp...cc...", ".....pp...cyyc..",
            "......l...cyyc..", "......l....cc...", "..g...l.....l...", "..gl..l..g..l...",
            "...l..l.gl.ll...", "...ll.lll..l....", "...dlldldlldl...",
        ],
        "mushroom": [
            "......kkkk......", "....kkrrrrkk....", "...krrccrrprk...", "..krrrccrrrppk..",
            "..krcrrrrrccrk..", "..kkrrrrrrcckk..", "...kkkcccckkk...", ".....kcchk......",
            "..g..kcchk...g..", "..ll.kcchk.gl...", "...lldcchdll....",
        ],
        "bush": [
            "......ggg.......", "....ggglllgg....", "...gglllllllg...", "..gglllgglllllg.",
            ".gglllggllllllll", ".gllllllllrlllll", "gglrllllllllllld", "glllllllgllllrld",
            "gllllrlllllllldd", "lllllllllldlldd.", ".lldlldlldddddd.",
        ],
        "sign": [
            "................", ".kkkkkkkkkkkk...", ".khhhhhhhhhhhk..", ".kwwwwwwkwwwwwk.",
            ".kwwkkkkkkwwwwwk", ".kwwkkkkkkwwwwWk", ".kwwwwwwkwwwwWk.", ".kWWWWWWWWWWWk..",
            ".kkkkkkkkkkkk...", "......kwk.......", "......kwk.......", "......kwk.......",
            "...g..kwk..g....", "...l..kwk.gl....", "...ll.kwkll.....", "..dldlkwkldld...",
        ],
        "fence": [
            "................", "................", "................", "..kk........kk..",
            ".khhk......khhk.", ".khWk......khWk.", "kkhWkkkkkkkkhWkk", "hhhWhhhhhhhhhWhh",
            "WWhWWWWWWWWWhWWW", "kkhWkkkkkkkkhWkk", ".khWk......khWk.", "kkhWkkkkkkkkhWkk",
            "hhhWhhhhhhhhhWhh", "WWhWWWWWWWWWhWWW", "kkhWkkkkkkkkhWkk", ".khWk......khWk.",
        ],
    }  # fmt: skip
    rows = shapes[name]
    picture.text(0, 16 - len(rows), rows, key)
    if name == "bush":
        picture.outline()
    return picture


def draw_tiles():
    sheet = Picture(128, 80)
    for mask in range(16):
        # Bits: up, right, down, left.
        sides = [bool(mask & bit) for bit in (1, 2, 4, 8)]
        sheet.paste(ground_tile(*sides, seed=mask), mask % 4 * 16, mask // 4 * 16)
    for index, (left, right) in enumerate(((False, True), (True, True), (True, False))):
        sheet.paste(plank_tile(left, right), (4 + index) * 16, 0)
    for index, name in enumerate(("grass", "flower", "mushroom", "bush")):
        sheet.paste(decoration(name), (4 + index) * 16, 16)
    for index, name in enumerate(("sign", "fence")):
        sheet.paste(decoration(name), (4 + index) * 16, 32)
    sheet.paste(water_tile(0, surface=False), 6 * 16, 32)
    for phase in range(4):
        sheet.paste(water_tile(phase, surface=True), (4 + phase) * 16, 48)
    sheet.save("level/tiles.png")


def draw_backgrounds():
    # Sky: bands with a dithered seam, a low sun and some clouds.
    sky = Picture(320, 180)
    bands = [f"sky_{it}" for it in range(6)]
    for y in range(180):
        for x in range(320):
            position = (y / 150) ** 1.1 * (len(bands) - 1)
            band = min(int(position), len(bands) - 2)
            seam = position - band
            dither = ((x * 2 + y * 3) % 4 + 0.5) / 4 * 0.5 + 0.25
            sky.put(x, y, bands[min(band + (1 if seam > dither else 0), len(bands) - 1)])
    for radius, color in ((30, "sky_5"), (25, "gold_light"), (22, "cream")):
        for y in range(180):
            for x in range(320):
                if (x - 228) ** 2 + (y - 92) ** 2 < radius * radius:
                    sky.put(x, y, color)
    chance = random.Random(5)
    for _ in range(26):
        x, y = chance.randrange(320), chance.randrange(46)
        sky.put(x, y, chance.choice(["cream", "lilac", "pink"]))
    sky.save("level/sky.png")

    clouds = Picture(320, 80)
    for x, y, size in ((50, 30, 1.0), (150, 52, 0.7), (262, 22, 0.85)):
        for dx, dy, radius in ((-17, 3, 7), (-6, -2, 10), (8, 0, 8), (19, 4, 5)):
            clouds.blob(x + dx * size, y + dy * size, radius * size * 1.5, radius * size * 0.8,
                        ("sky_3", "pink", "blush"))
    for y in range(80):
        for x in range(320):
            if clouds.get(x, y)[3]:
                clouds.put(x, y, clouds.get(x, y)[:3] + (200,))
    clouds.save("level/clouds.png")

    def hills(path, color, rim, height, waves, trees=0):
        picture = Picture(320, 180)
        tops = []
        for x in range(320):
            angle = x / 320 * 2 * math.pi
            tops.append(round(height + sum(a * math.sin(k * angle + p) for a, k, p in waves)))
        for x, top in enumerate(tops):
            picture.rect(x, top, 1, 180 - top, color)
            picture.rect(x, top, 1, 2, rim)
        spot = random.Random(trees)
        for _ in range(trees):
            x, size = spot.randrange(8, 312), spot.randrange(12, 26)
            top = tops[x] - size
            for j in range(size + 4):
                half = (j % 6) // 2 + j // 4
                picture.rect(x - half, top + j, 2 * half + 1, 1, color)
        picture.save(path)

    hills("level/hills_far.png", "hill_0", "sky_3", 112, [(14, 2, 0.5), (6, 5, 1.0), (3, 9, 2.0)])
    hills("level/hills_near.png", "hill_1", "hill_0", 134, [(10, 3, 2.0), (5, 7, 0.0)], trees=14)
    hills("level/bushes.png", "hill_2", "hill_1", 160, [(6, 4, 1.0), (4, 11, 0.0), (2, 23, 1.0)])


def draw_interface():
    rows = [".kk...kk.", "kppk.kppk", "kpcprrrpk", "kpprrrrdk", "krrrrrrdk", ".krrrrdk.", "..krrdk..",
            "...kdk...", "....k...."]  # fmt: skip
    key = {"k": "ink", "p": "pink", "c": "cream", "r": "rose", "d": "rose_dark"}
    heart = Picture(12, 12)
    heart.text(1, 1, rows, key)
    heart.save("ui/heart.png")

    def frame(path, face, rim, shade):
        picture = Picture(16, 16)
        picture.rect(1, 0, 14, 16, "ink")
        picture.rect(0, 1, 16, 14, "ink")
        picture.rect(1, 1, 14, 14, rim)
        picture.rect(2, 13, 12, 2, shade)
        picture.rect(2, 2, 12, 11, face)
        picture.put(1, 1, "ink")
        picture.put(14, 1, "ink")
        picture.put(1, 14, "ink")
        picture.put(14, 14, "ink")
        picture.save(path)

    frame("ui/panel.png", "plum", "violet", "violet")
    frame("ui/button.png", "rose", "pink", "rose_dark")
    frame("ui/button_focus.png", "gold", "gold_light", "gold_dark")
    frame("ui/button_pressed.png", "gold_dark", "gold_dark", "wood_dark")

    icon = Picture(128, 128)
    icon.rect(4, 0, 120, 128, "sky_2")
    icon.rect(0, 4, 128, 120, "sky_2")
    small = radish()
    for y in range(128):
        for x in range(128):
            if icon.get(x, y)[3] and y > 96:
                icon.put(x, y, "leaf" if y > 100 else "leaf_light")
            pixel = small.get((x - 4) // 5, (y - 2) // 5) if y >= 2 and x >= 4 else CLEAR
            if pixel[3]:
                icon.put(x, y, pixel)
    icon.save("icon.png")


# --------------------------------------------------------------------- sounds

RATE = 22050


def tone(frequency, kind):
    """A wave by phase (0 to 1): from round to edgy."""
    return {
        "sine": lambda it: math.sin(2 * math.pi * it),
        "triangle": lambda it: 4 * abs((it + 0.75) % 1 - 0.5) - 1,
        "square": lambda it: 0.6 if it % 1 < 0.5 else -0.6,
        "pulse": lambda it: 0.6 if it % 1 < 0.25 else -0.6,
    }[kind](frequency)


def glide(start, end, seconds, kind="square", volume=0.5, noise=0.0):
    """A tone that moves from one frequency to another and fades."""
    chance = random.Random(1)
    samples, phase = [], 0.0
    count = int(seconds * RATE)
    for i in range(count):
        done = i / count
        phase += (start * (end / start) ** done) / RATE
        value = tone(phase, kind) * (1 - noise) + chance.uniform(-1, 1) * noise
        samples.append(value * volume * min(1.0, i / 60) * (1 - done) ** 1.5)
    return samples


def mix(*parts):
    """Parts are (seconds of start, samples)."""
    total = max(int(start * RATE) + len(samples) for start, samples in parts)
    result = [0.0] * total
    for start, samples in parts:
        offset = int(start * RATE)
        for i, value in enumerate(samples):
            result[offset + i] += value
    return result


def save_sound(path, samples):
    with wave.open(str(PROJECT / path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        data = (int(max(-1.0, min(1.0, it)) * 32000) for it in samples)
        file.writeframes(b"".join(struct.pack("<h", it) for it in data))


def pitch(note):
    """Frequency of a MIDI note."""
    return 440.0 * 2 ** ((note - 69) / 12)


def make_sounds():
    save_sound("player/jump.wav", glide(280, 620, 0.18, "pulse", 0.35))
    save_sound("player/hurt.wav", glide(420, 90, 0.35, "square", 0.4, noise=0.25))
    save_sound("enemies/beaten.wav", glide(520, 110, 0.22, "triangle", 0.7, noise=0.12))
    save_sound("objects/coin.wav", mix(
        (0.0, glide(pitch(83), pitch(83), 0.09, "square", 0.3)),
        (0.07, glide(pitch(88), pitch(88), 0.3, "square", 0.3)),
    ))  # fmt: skip
    win = [(i * 0.12, glide(pitch(n), pitch(n), 0.4, "square", 0.25))
           for i, n in enumerate((67, 72, 76, 79, 76, 79, 84))]  # fmt: skip
    save_sound("objects/win.wav", mix(*win))
    lose = [(i * 0.2, glide(pitch(n), pitch(n) * 0.97, 0.5, "triangle", 0.5))
            for i, n in enumerate((67, 63, 60, 55))]  # fmt: skip
    save_sound("ui/lose.wav", mix(*lose))


def main():
    draw_player()
    draw_enemies()
    draw_coin()
    draw_flag()
    draw_tiles()
    draw_backgrounds()
    draw_interface()
    make_sounds()


if __name__ == "__main__":
    main()
