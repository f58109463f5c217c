// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Studio

@Suite("The edit distance of words")
struct EditDistanceTests {
    private static let letters = Array("abcB\u{E9}字-")

    private func word(_ lengths: ClosedRange<Int>, of count: Int = 7, _ random: inout SeededRandom) -> String {
        var word = ""
        for _ in 0..<Int.random(in: lengths, using: &random) {
            word.append(Self.letters.prefix(count).randomElement(using: &random) ?? "a")
        }
        return word
    }

    /// The recursive definition: the minimum over removing, inserting or replacing the last letter, or swapping it with
    /// the one before it.
    private func defined(_ first: ArraySlice<Character>, _ second: ArraySlice<Character>) -> Int {
        guard let (x, y) = both(first.last, second.last) else { return max(first.count, second.count) }
        let (rest, others) = (first.dropLast(), second.dropLast())
        let changed = defined(rest, others) + (x == y ? 0 : 1)
        var least = min(defined(rest, second) + 1, defined(first, others) + 1, changed)
        if let (w, z) = both(rest.last, others.last), w == y, z == x {
            least = min(least, defined(rest.dropLast(), others.dropLast()) + 1)
        }
        return least
    }

    private func both(_ x: Character?, _ y: Character?) -> (Character, Character)? {
        guard let x, let y else { return nil }
        return (x, y)
    }

    @Test("The edit distance of short words equals that of its recursive definition")
    func definition() {
        var random = SeededRandom()
        for _ in 0..<400 {
            // The alphabet is small, so that many letters are swapped.
            let count = Int.random(in: 2...7, using: &random)
            let (first, second) = (word(0...5, of: count, &random), word(0...5, of: count, &random))
            let wanted = defined(Array(first)[...], Array(second)[...])
            #expect(EditDistance.between(first, second) == wanted, "\(first) \(second)")
        }
    }

    @Test(
        "The edit distance is symmetric, 0 only for equal words, and at most twice that of a detour over a third word"
    )
    func bounds() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let count = Int.random(in: 1...7, using: &random)
            let words = (0..<3).map { _ in word(0...20, of: count, &random) }
            let (a, b, c) = (words[0], words[1], words[2])
            let (ab, bc, ac) = (EditDistance.between(a, b), EditDistance.between(b, c), EditDistance.between(a, c))
            #expect(ab == EditDistance.between(b, a), "\(a) \(b)")
            #expect((ab == 0) == (a == b) && EditDistance.between(a, a) == 0, "\(a) \(b)")
            #expect((abs(a.count - b.count)...max(a.count, b.count)).contains(ab), "\(a) \(b)")
            // The factor is 2, because swapped letters are not changed again, so that a detour can be shorter.
            #expect(ac <= 2 * (ab + bc), "\(a) \(b) \(c)")
        }
        let detour = EditDistance.between("ca", "ac") + EditDistance.between("ac", "abc")
        #expect(EditDistance.between("ca", "abc") == 3 && detour == 2)
    }

    /// `word` with one letter inserted, removed or replaced, or, if `swaps`, swapped with its neighbour.
    private func changed(_ word: String, swaps: Bool, _ random: inout SeededRandom) -> String {
        var letters = Array(word)
        let letter = Self.letters.randomElement(using: &random) ?? "a"
        let place = Int.random(in: 0...letters.count, using: &random)
        switch Int.random(in: 0..<(swaps ? 4 : 3), using: &random) {
        case 1 where place < letters.count: letters.remove(at: place)
        case 2 where place < letters.count: letters[place] = letter
        case 3 where place + 1 < letters.count: letters.swapAt(place, place + 1)
        default: letters.insert(letter, at: place)
        }
        return String(letters)
    }

    @Test("The edit distance is at most the number of changes, and a word with one change is recognized")
    func changes() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let start = word(0...16, &random)
            var end = start
            for count in 1...6 {
                end = changed(end, swaps: false, &random)
                #expect(EditDistance.between(start, end) <= count, "\(start) \(end)")
            }
            let (typed, others) = (changed(start, swaps: true, &random), (0..<4).map { _ in word(0...16, &random) })
            #expect(EditDistance.between(start, typed) <= 1, "\(start) \(typed)")
            let found = EditDistance.nearest(to: typed, among: others + [start])
            let distance = found.map { EditDistance.between($0.lowercased(), typed.lowercased()) }
            #expect(distance == 0 || distance == 1, "\(start) \(typed) \(found ?? "nothing")")
        }
    }

    @Test("The suggested word has the least edit distance, ignoring case; no word is suggested if all differ too much")
    func nearest() {
        var random = SeededRandom()
        var missing = 0
        for _ in 0..<500 {
            let typed = word(0...8, &random)
            let known = (0..<Int.random(in: 0...5, using: &random)).map { _ in word(0...8, &random) }
            let distances = known.map { EditDistance.between(typed.lowercased(), $0.lowercased()) }
            let found = EditDistance.nearest(to: typed, among: known)
            if let least = distances.min(), least <= max(1, typed.count / 2) {
                let candidates = zip(known, distances).filter { $0.1 == least }.map { $0.0 }
                #expect(found.map { candidates.contains($0) } == true, "\(typed) \(known) \(found ?? "nothing")")
            } else {
                missing += 1
                #expect(found == nil, "\(typed) \(known)")
            }
        }
        #expect(missing > 20)
        #expect(EditDistance.nearest(to: "SEGMENTS", among: ["sources", "segments"]) == "segments")
    }

    @Test("For long words the edit distance takes only the first 64 letters into account")
    func long() {
        var random = SeededRandom()
        let (first, second) = (word(64...64, &random), word(64...64, &random))
        let tails = (word(0...3000, &random), String(repeating: "x", count: 100_000))
        #expect(EditDistance.between(first + tails.0, second + tails.1) == EditDistance.between(first, second))
        #expect(EditDistance.between(first + tails.0, first + tails.1) == 0)
        #expect(EditDistance.between("", first + tails.1) == 64)
    }
}
