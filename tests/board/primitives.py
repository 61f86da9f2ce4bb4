"""BLAKE3 and Ed25519 (RFC 8032) in plain Python: slow, and easy to compare with their papers."""

import hashlib
import struct

IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
START, END, PARENT, ROOT, CONTEXT, MATERIAL = 1, 2, 4, 8, 32, 64
MASK = 0xFFFFFFFF
COLUMNS_AND_DIAGONALS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def compress(chain, block, counter, length, flags):
    """The 8 words of the next chaining value."""
    v = [*chain, *IV[:4], counter & MASK, counter >> 32, length, flags]
    m = block
    for turn in range(7):
        for place, (a, b, c, d) in enumerate(COLUMNS_AND_DIAGONALS):
            for word, right, left in ((m[2 * place], 16, 12), (m[2 * place + 1], 8, 7)):
                v[a] = v[a] + v[b] + word & MASK
                x = v[d] ^ v[a]
                v[d] = (x >> right | x << 32 - right) & MASK
                v[c] = v[c] + v[d] & MASK
                x = v[b] ^ v[c]
                v[b] = (x >> left | x << 32 - left) & MASK
        if turn < 6:
            m = [m[place] for place in PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)]


def words(data):
    return struct.unpack("<16I", data.ljust(64, b"\0"))


def chunk(key, data, counter, flags):
    """What is left to compress of one chunk: the arguments of its last block."""
    blocks = [data[at : at + 64] for at in range(0, len(data), 64)] or [b""]
    chain = list(key)
    for place, block in enumerate(blocks):
        own = flags | (START if place == 0 else 0)
        if place == len(blocks) - 1:
            return chain, words(block), counter, len(block), own | END
        chain = compress(chain, words(block), counter, 64, own)
    raise AssertionError("a chunk has a block")


def tree(key, data, counter, flags):
    """What is left to compress of a tree of chunks."""
    if len(data) <= 1024:
        return chunk(key, data, counter, flags)
    left = 1024
    while left * 2 < len(data):
        left *= 2
    one = compress(*tree(key, data[:left], counter, flags))
    other = compress(*tree(key, data[left:], counter + left // 1024, flags))
    return list(key), tuple(one + other), 0, 64, flags | PARENT


def blake3(key, data, flags):
    chain, block, _, length, own = tree(key, data, 0, flags)
    return struct.pack("<8I", *compress(chain, block, 0, length, own | ROOT))


def hash_of(data):
    """The plain hash."""
    return blake3(IV, data, 0)


def derive(context, data):
    """The hash in a context."""
    key = struct.unpack("<8I", blake3(IV, context.encode(), CONTEXT))
    return blake3(key, data, MATERIAL)


P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1, 1, 0)


def add(a, b):
    """The sum of two points in extended coordinates."""
    x = (a[1] - a[0]) * (b[1] - b[0]) % P
    y = (a[1] + a[0]) * (b[1] + b[0]) % P
    t, z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = y - x, z - t, z + t, y + x
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number, point):
    result = NEUTRAL
    while number:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result


def encode_point(point):
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def decode_point(data):
    """The point with this canonical encoding; None if there is none."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def is_small(point):
    """Whether 8 times the point is the neutral element."""
    return encode_point(times(8, point)) == encode_point(NEUTRAL)


BASE = decode_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verifies(key, signature, message):
    """Whether an Ed25519 signature is strictly valid."""
    point, r = decode_point(key), decode_point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if point is None or r is None or s >= ORDER or is_small(point) or is_small(r):
        return False
    k = hashlib.sha512(signature[:32] + key + message).digest()
    k = int.from_bytes(k, "little") % ORDER
    negative = (P - point[0], point[1], 1, P - point[3])
    return encode_point(add(times(s, BASE), times(k, negative))) == signature[:32]


# The u coordinates of the points of small order of Curve25519 below its prime.
SMALL_U = {
    0,
    1,
    P - 1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
}


def is_sound_x25519(data):
    """Below the prime, and with no all-zero shared secret."""
    u = int.from_bytes(data, "little")
    return u < P and u not in SMALL_U
