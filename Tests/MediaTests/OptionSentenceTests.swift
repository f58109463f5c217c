// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@Suite("A sentence about options")
struct OptionSentenceTests {
    private let keys = ["--crf": "encoder.crf", "--output": "outputs", "--rendition": "renditions"]

    private func inFile(_ sentence: OptionSentence) -> String { sentence.text { keys[$0] ?? $0 } }

    @Test("It calls options by their flags, and in a file by their keys")
    func names() {
        let number = 2
        let sentence: OptionSentence =
            "\(option: "--output", .number(number)) takes \(option: "--rendition", .name("a")), and \(option: "--crf") "
            + "is \(7): see \(option: "--srt")."
        #expect("\(sentence)" == "--output number 2 takes --rendition a, and --crf is 7: see --srt.")
        #expect(inFile(sentence) == "outputs number 2 takes renditions a, and encoder.crf is 7: see --srt.")
        #expect(
            sentence.options == [
                OptionReference("--output", .number(2)), OptionReference("--rendition", .name("a")),
                OptionReference("--crf"), OptionReference("--srt"),
            ])
    }

    @Test("What is put into it keeps its options, and a value that looks like a flag is text")
    func nested() {
        let inner = TextFailure("There is none: see \(option: "--rendition").")
        let sentence: OptionSentence = "\(option: "--crf"): \(inner) And \("--output")."
        #expect(inFile(sentence) == "encoder.crf: There is none: see renditions. And --output.")
        #expect(sentence.options.map(\.flag) == ["--crf", "--rendition"])
    }

    @Test("A failure names the option that is to be changed first")
    func subject() {
        let failure = TextFailure("Two have one name; see \(option: "--crf").", about: OptionReference("--output"))
        #expect(failure.options.map(\.flag) == ["--output", "--crf"])
        #expect(failure.description == "Two have one name; see --crf.")
        #expect(TextFailure("No option.").options.isEmpty)
    }
}
