# SPDX-License-Identifier: Apache-2.0
"""How far audio is from what it was made of. Samples are floats, 1.0 for full scale."""

import math
from operator import mul

# 5 ms and 30 ms at 48 kHz.
PIECE, AROUND = 240, 1440
# A high-pass filter: what is above 6 kHz, far above all that the sources have. A click is as loud there as anywhere.
TAPS, CUT = 255, 6000 / 48_000


def high_pass():
    middle = TAPS // 2
    low = []
    for tap in range(TAPS):
        place = tap - middle
        ideal = 2 * CUT if not place else math.sin(2 * math.pi * CUT * place) / (math.pi * place)
        angle = 2 * math.pi * tap / (TAPS - 1)
        low.append(ideal * (0.42 - 0.5 * math.cos(angle) + 0.08 * math.cos(2 * angle)))
    total = sum(low)
    return [(tap == middle) - value / total for tap, value in enumerate(low)]


FILTER = high_pass()


def decibels(samples):
    """The root mean square."""
    power = sum(map(mul, samples, samples)) / max(1, len(samples))
    return 10 * math.log10(power) if power else -math.inf


def pieces(samples):
    """Pieces of 5 ms, whole ones."""
    return [samples[at : at + PIECE] for at in range(0, max(1, len(samples) - PIECE + 1), PIECE)]


def lag(audio, source, low, high, shift, most):
    """By how many samples audio[low:high] comes later than source is with this shift: where it differs least."""
    part = audio[low:high]

    def difference(late):
        other = source[low + shift - late : high + shift - late]
        return sum(map(mul, other, other)) - 2 * sum(map(mul, part, other))

    return min(range(-most, most + 1), key=difference)


def join_residual(audio, before, after, cut, half, is_one_file):
    """The loudest 5 ms of what differs from an ideal crossfade, around a join. Of a file is said where its samples are, and
    which they are."""
    worst = -math.inf
    for channel, one, two in zip(audio, before[1], after[1]):
        residual = []
        for at in range(cut - AROUND, cut + AROUND):
            part = min(1, max(0, (at - cut + half + 0.5) / (2 * half)))
            # Of one file the sum stays; of two, which have nothing in common, the power.
            fall, rise = (1 - part, part) if is_one_file else (math.cos(part * math.pi / 2), math.sin(part * math.pi / 2))
            residual.append(channel[at] - fall * one[at + before[0]] - rise * two[at + after[0]])
        worst = max(worst, *map(decibels, pieces(residual)))
    return worst


def splash(audio, low, high):
    """The loudest 5 ms of what is in a range above 6 kHz."""
    worst = -math.inf
    for channel in audio:
        filtered = [
            sum(map(mul, FILTER, channel[at - TAPS // 2 : at + TAPS // 2 + 1])) for at in range(low, high)
        ]
        worst = max(worst, *map(decibels, pieces(filtered)))
    return worst


def splash_of_cut(before, after, cut):
    """The same around a join, of one file's samples and then the other's."""
    joined = [
        list(one[cut - AROUND + before[0] : cut + before[0]]) + list(two[cut + after[0] : cut + AROUND + after[0]])
        for one, two in zip(before[1], after[1])
    ]
    return splash(joined, TAPS // 2, 2 * AROUND - TAPS // 2 - 1)
