// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Channel

@Suite("Parsing of encoding options")
struct EncodingTextTests {
    private static let bitrates = 50_000...200_000_000

    /// The pieces of random texts.
    private static let pieces = [
        "0", "1", "2", "9", "12", "25", "30", "60", "64", "120", "121", "720", "1001", "1280", "8192", "8194", "30000",
        "999999999999999999999", ".", ",", "/", "-", "+", " ", "x", "X", "×", "k", "K", "m", "M", "e", "p", "_", "nan",
        "inf", "0x", "٣", "½", "\u{0}", "\u{301}", "23.976", "29.97",
    ]

    private func text(_ random: inout SeededRandom) -> String {
        (0..<Int.random(in: 0...5, using: &random))
            .map { _ in Self.pieces[Int.random(in: Self.pieces.indices, using: &random)] }
            .joined()
    }

    /// `bits` as a decimal fraction of `unit`, a power of ten, with as few digits as possible.
    private func decimal(_ bits: Int, per unit: Int) -> String {
        let rest = String(bits % unit)
        let zeros = String(repeating: "0", count: String(unit).count - 1 - rest.count)
        var text = "\(bits / unit).\(zeros)\(rest)"
        while text.hasSuffix("0") { text.removeLast() }
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    /// The sentence with which a text is refused; nil if it is accepted.
    private func refusal(_ read: () throws(TextFailure) -> Void) -> String? {
        do throws(TextFailure) {
            try read()
            return nil
        } catch {
            return error.description
        }
    }

    @Test("A bitrate in bits, kilobits or megabits is parsed exactly, in upper and lower case")
    func wholeBitrates() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let bits = Int.random(in: Self.bitrates, using: &random)
            let kilobits = Int.random(in: 50...200_000, using: &random)
            let megabits = Int.random(in: 1...200, using: &random)
            #expect(try EncodingText.bitrate("\(bits)", in: Self.bitrates) == bits)
            for letter in ["k", "K"] {
                #expect(try EncodingText.bitrate("\(kilobits)\(letter)", in: Self.bitrates) == kilobits * 1000)
            }
            for letter in ["m", "M"] {
                #expect(try EncodingText.bitrate("\(megabits)\(letter)", in: Self.bitrates) == megabits * 1_000_000)
            }
        }
    }

    @Test(
        "A bitrate with decimals is parsed exactly, without losing a bit by rounding",
        arguments: [("2.5M", 2_500_000), ("4.1M", 4_100_000), ("8.2M", 8_200_000), ("32.3M", 32_300_000)])
    func decimalBitrate(text: String, bits: Int) throws {
        #expect(try EncodingText.bitrate(text, in: Self.bitrates) == bits)
    }

    @Test("Any bitrate written as a decimal fraction of a megabit or kilobit is parsed exactly")
    func decimalBitrates() {
        var random = SeededRandom()
        var wrong: [String] = []
        for _ in 0..<2000 {
            let bits = Int.random(in: Self.bitrates, using: &random)
            for text in [decimal(bits, per: 1_000_000) + "M", decimal(bits, per: 1000) + "k"]
            where (try? EncodingText.bitrate(text, in: Self.bitrates)) != bits {
                wrong.append("\(text) is not \(bits)")
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count): \(wrong.prefix(5))")
    }

    @Test("A bitrate outside its range is refused with a sentence that names the range")
    func bitratesOutside() {
        var random = SeededRandom()
        for _ in 0..<500 {
            let low = Int.random(in: 50...500, using: &random)
            let range = (low * 1000)...(low * 2000)
            for bits in [Int.random(in: 0..<range.lowerBound, using: &random), range.upperBound + 1, Int.max] {
                let sentence = refusal { () throws(TextFailure) in _ = try EncodingText.bitrate("\(bits)", in: range) }
                #expect(sentence?.contains("from \(low)k to \(low * 2)k") == true, "\(bits) in \(range)")
            }
            #expect(throws: TextFailure.self) { try EncodingText.bitrate("\(low * 2 + 1)k", in: range) }
            #expect((try? EncodingText.bitrate("\(low)k", in: range)) == range.lowerBound)
            #expect((try? EncodingText.bitrate("\(low * 2)k", in: range)) == range.upperBound)
        }
    }

    @Test("A frame size is accepted only if both sides are even and from 32 to 8192")
    func sizes() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let sides = (0..<2).map { _ in
                Bool.random(using: &random)
                    ? 2 * Int.random(in: 16...4096, using: &random) : Int.random(in: -100...9000, using: &random)
            }
            let isValid = sides.allSatisfy { $0 >= 32 && $0 <= 8192 && $0 % 2 == 0 }
            let size = FrameSize(width: sides[0], height: sides[1])
            for mark in ["x", "X"] {
                let read = try? EncodingText.size("\(sides[0])\(mark)\(sides[1])")
                #expect(read == (isValid ? size : nil), "\(sides)")
            }
            #expect((try? EncodingText.size("\(sides[0])")) == nil)
            #expect((try? EncodingText.size("\(sides[0])x\(sides[1])x2")) == nil)
        }
    }

    @Test("A frame rate may be written as a number or a fraction, and must be from 1 to 120")
    func frameRates() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let denominator = Int64.random(in: 1...10_000, using: &random)
            let numerator = Int64.random(in: 1...(130 * denominator), using: &random)
            let isValid = numerator >= denominator && numerator <= 120 * denominator
            let factor = Int64.random(in: 1...100, using: &random)
            let read = try? EncodingText.frameRate("\(numerator * factor)/\(denominator * factor)")
            #expect((read != nil) == isValid, "\(numerator)/\(denominator)")
            guard let read else { continue }
            #expect(Int64(read.numerator) * denominator == numerator * Int64(read.denominator))
            #expect((try? EncodingText.frameRate(read.description)) == read)
        }
        for whole in 1...120 {
            #expect((try? EncodingText.frameRate("\(whole)"))?.value == Double(whole))
            #expect((try? EncodingText.frameRate("\(whole)/1"))?.value == Double(whole))
        }
    }

    @Test("A random text for an encoding option is refused with a sentence, or gives a value within its range")
    func randomTexts() {
        var random = SeededRandom()
        var read = 0
        for _ in 0..<5000 {
            let text = text(&random)
            if let bits = try? EncodingText.bitrate(text, in: Self.bitrates) {
                #expect(Self.bitrates.contains(bits), "\(text)")
                read += 1
            }
            if let size = try? EncodingText.size(text) {
                for side in [size.width, size.height] {
                    #expect(side >= 32 && side <= 8192 && side.isMultiple(of: 2), "\(text)")
                }
                #expect((try? EncodingText.size("\(size.width)x\(size.height)")) == size)
                read += 1
            }
            if let rate = try? EncodingText.frameRate(text) {
                #expect(rate.value >= 1 && rate.value <= 120, "\(text)")
                #expect((try? EncodingText.frameRate(rate.description)) == rate)
                read += 1
            }
            for sentence in refusals(text) { #expect(sentence.hasSuffix("."), "\(text): \(sentence)") }
        }
        #expect(read > 0)
    }

    private func refusals(_ text: String) -> [String] {
        [
            refusal { () throws(TextFailure) in _ = try EncodingText.bitrate(text, in: Self.bitrates) },
            refusal { () throws(TextFailure) in _ = try EncodingText.size(text) },
            refusal { () throws(TextFailure) in _ = try EncodingText.frameRate(text) },
        ].compactMap(\.self)
    }

    @Test("A number with hundreds of digits is refused as a bitrate, a frame size and a frame rate")
    func longNumbers() {
        for digit in ["1", "9"] {
            let digits = String(repeating: digit, count: 400)
            for text in [digits + "9", digits + "9M", "0." + digits + "k"] {
                let bits = try? EncodingText.bitrate(text, in: Self.bitrates)
                #expect(bits == nil, "\(text)")
            }
            #expect(throws: TextFailure.self) { try EncodingText.size("\(digits)1x720") }
            #expect(throws: TextFailure.self) { try EncodingText.frameRate("1\(digits)/1") }
        }
    }
}
