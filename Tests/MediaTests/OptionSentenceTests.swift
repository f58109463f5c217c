// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@Suite("Messages that mention options")
struct OptionSentenceTests {
    private let keys = ["--crf": "encoder.crf", "--output": "outputs", "--rendition": "renditions"]

    private func inFile(_ sentence: OptionSentence) -> String { sentence.text { keys[$0] ?? $0 } }

    @Test("A message names options by their flags, or for a configuration file by their keys")
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

    @Test("A message inserted into another keeps its options, but inserted text that looks like a flag is plain text")
    func nested() {
        let inner = TextFailure("There is none: see \(option: "--rendition").")
        let sentence: OptionSentence = "\(option: "--crf"): \(inner) And \("--output")."
        #expect(inFile(sentence) == "encoder.crf: There is none: see renditions. And --output.")
        #expect(sentence.options.map(\.flag) == ["--crf", "--rendition"])
    }

    @Test("The first option of a failure is the option that the operator should change")
    func subject() {
        let failure = TextFailure("Two have one name; see \(option: "--crf").", about: OptionReference("--output"))
        #expect(failure.options.map(\.flag) == ["--output", "--crf"])
        #expect(failure.description == "Two have one name; see --crf.")
        #expect(TextFailure("No option.").options.isEmpty)
    }
}
