// SPDX-License-Identifier: Apache-2.0

import FanOut
import Publisher
import Testing

@testable import Channel

@Suite("Parsing of an output's address and options")
struct OutputSpecificationTests {
    private func refusal(_ text: String) -> String {
        do throws(OutputSpecificationError) {
            _ = try OutputSpecification(text)
            return ""
        } catch {
            return error.description
        }
    }

    @Test("An output without options has the default queue limits and the default retry policy")
    func defaults() throws {
        let output = try OutputSpecification("rtmp://host/live/key")
        #expect(output.text == "rtmp://host/live/key" && output.name == nil && output.backup == nil)
        #expect(output.limits == .live && output.retry == RetryPolicy())
    }

    @Test("An output's options follow its address")
    func options() throws {
        let output = try OutputSpecification(
            "rtmp://host/live/key#name=main.1,queue=2s,queue-bytes=4MB,retry=5,backup=srt://b:9000?streamid=a%2Cb"
                + ",backup-after=2,primary-check=5s"
        )
        #expect(output.name == "main.1" && output.text == "rtmp://host/live/key")
        #expect(output.limits.maximumDuration == .seconds(2) && output.limits.maximumBytes == 4_000_000)
        #expect(output.limits.videoThreshold == .milliseconds(900))
        #expect(output.retry.attemptLimit == 5 && output.retry.backupAfter == 2)
        #expect(output.retry.primaryInterval == .seconds(5))
        #expect(output.backup?.kind.name == OutputKind.srt.name)
    }

    @Test("If an output's queue is configured short, its drop thresholds are lowered accordingly")
    func shortQueue() throws {
        let limits = try OutputSpecification("rtmp://host/live/key#queue=500ms").limits
        #expect(limits.disposableThreshold == .milliseconds(350) && limits.videoThreshold == .milliseconds(450))
    }

    @Test("The #! of an SRT stream ID does not begin an output's options")
    func streamID() throws {
        let plain = try OutputSpecification("srt://h:9000?streamid=#!::r=live,m=publish")
        #expect(plain.name == nil && plain.text.hasSuffix("m=publish"))
        let named = try OutputSpecification("srt://h:9000?streamid=#!::r=live,m=publish#name=x")
        #expect(named.name == "x" && named.text.hasSuffix("m=publish"))
    }

    @Test("The option retry=forever removes the limit of an output's connection attempts")
    func forever() throws {
        #expect(try OutputSpecification("srt://h:9000#retry=forever").retry.attemptLimit == nil)
        #expect(try OutputSpecification("srt://h:9000#retry=0").retry.attemptLimit == 0)
    }

    @Test(
        "An invalid option of an output is refused by its name, without a value that may be secret",
        arguments: [
            ("rtmp://host/live/key#queue=1h", "queue="), ("rtmp://host/live/key#name=a b", "name="),
            ("rtmp://host/live/key#retry=-1", "retry="), ("rtmp://host/live/key#color=secret", "Option number 1"),
            ("rtmp://host/live/key#backup=rtmp://a/b/c,secret", "Option number 2"),
            ("srt://h:1#tls=insecure", "Option number 1"),
            ("rtmp://host/live/key#secret", "Option number 1"), ("rtmp://host/live/key#name=", "no value"),
            ("rtmp://host/live/key#name=a,name=b", "twice"), ("secret#name=a,name=b", "The output option name"),
            (
                "rtmp://host/live/key#color=1",
                "primary-check, proxy, queue, queue-bytes, rendition, retry, tls and tls-ca. Write a comma"
            ),
            ("rtmp://host/live/key#backup=rtmp://secret", "backup="),
            ("rtmp://host/live/key#backup-after=2", "backup="),
            ("rtmp://host/live/key#backup=srt://0.0.0.0:9000?mode=listener", "wait to be called"),
            ("srt://0.0.0.0:9000?mode=listener#backup=rtmp://host/live/secret", "wait to be called"),
            ("rtmp://host/live/key#queue-bytes=1", "queue-bytes="), ("srt://h:1#primary-check=5s", "backup="),
            ("gopher://host/secret", "rtmp://"),
            ("", "rtmp://"),
            ("rtmp://host/live/key#backup=rtmp://a/b/c,backup-after=0", "backup-after="),
        ])
    func refusals(text: String, word: String) {
        let sentence = refusal(text)
        #expect(sentence.contains(word), "\(sentence)")
        #expect(!sentence.contains("secret"))
    }
}
