// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import Program
import Testing

@testable import Channel

@Suite("Parsing of an input with its options")
struct InputSpecificationTests {
    private let secrets = SecretReferences { ["URL": "rtsp://u:p,w#x=1@cam/x", "KEY": "k,1"][$0] }

    @Test("An input's options follow its address, and its backup inputs keep their order")
    func all() throws {
        let text =
            "srt://h:9000?mode=caller#name=cam1,backup=rtsp://b/x,backup=loop.mp4,timeout=500ms,standby=hot,"
            + "return=never,latency=400ms"
        let input = try InputSpecification(text)
        #expect(input.name == "cam1")
        #expect(input.location.description == "srt://h:9000?…")
        #expect(input.backups.map(\.description) == ["rtsp://b/x", "loop.mp4"])
        #expect(input.selection.timeout == .milliseconds(500) && input.selection.returnAfter == nil)
        #expect(input.selection.standby == .hot && input.selectionOption != nil)
        #expect(input.standby == .hot)
    }

    @Test("The options for gain and mute set an input's initial audio, even for a file")
    func audio() throws {
        let input = try InputSpecification("udp://@:5000#name=guest,gain=-6.5,muted=yes")
        #expect(input.audio.gain == -6.5 && input.audio.isMuted && input.audioOption != nil)
        #expect(try InputSpecification("a.mp4#gain=3").audio.gain == 3)
        #expect(try InputSpecification("a.mp4#muted=no").audioOption == "muted")
        #expect(try InputSpecification("udp://@:5000").audioOption == nil)
        for text in ["udp://@:5000#gain=21", "udp://@:5000#gain=loud", "udp://@:5000#gain=nan", "a.mp4#muted=true"] {
            #expect(throws: InputSpecificationError.self) { try InputSpecification(text) }
        }
    }

    @Test("A reference to a secret in an input's header option is replaced, and refused if the secret is missing")
    func header() throws {
        let input = try InputSpecification("http://h/x#header=X-Key: ${KEY},name=a", secrets: secrets)
        #expect(input.location == InputLocation("http://h/x#header=X-Key: k%2C1") && input.name == "a")
        #expect(throws: InputSpecificationError.self) {
            try InputSpecification("http://h/x#header=X-Key: ${NONE}", secrets: secrets)
        }
    }

    @Test("An input without options consists of its address only")
    func none() throws {
        let input = try InputSpecification("udp://@:5000")
        #expect(input.backups.isEmpty && input.name == nil && input.selectionOption == nil)
        #expect(input.selection == SourceSelector.Options())
        #expect(try InputSpecification("12:30#name=x.mp4").location.isFile)
    }

    @Test("A backup's address may contain %2C for a comma, and the backup's own options after a #")
    func nested() throws {
        let input = try InputSpecification(
            "srt://h:1#backup=http://h/a%2Cb#latency=1s,backup=udp://@:5#latency=2s,timeout=1s")
        #expect(input.backups.map(\.description) == ["http://h/a,b", "udp://:5"])
        #expect(input.backups == [InputLocation("http://h/a,b#latency=1s"), InputLocation("udp://@:5#latency=2s")])
        #expect(input.selection.timeout == .seconds(1))
    }

    @Test("A # or comma in a secret is part of the input's address, and the printed input hides the secret")
    func references() throws {
        let input = try InputSpecification("${URL}#backup=rtmp://h/live/${KEY},name=a", secrets: secrets)
        #expect(input.name == "a")
        #expect(input.location.description == "${URL}")
        #expect(input.backups.map(\.description) == ["rtmp://h/live/${***"])
    }

    @Test(
        "An invalid option of an input is refused in one sentence without secrets",
        arguments: [
            "srt://h:1#timeout=0,backup=rtmp://h/a/secret", "srt://h:1#timeout=2m", "srt://h:1#standby=warm",
            "srt://h:1#return=2h", "srt://h:1#name=a b", "srt://h:1#name=", "srt://h:1#secret=1",
            "srt://h:1#backup=rtmp:/h/a/secret", "srt://h:1#backup=udp://@:5#secret=1", "srt://h:1#name=a,name=b",
            "show.mp4#backup=rtmp://h/a/secret", "srt://h:1#latency=soon", "show.mp4#name=a,standby=cold",
        ])
    func refused(text: String) throws {
        let error = try #require(throws: InputSpecificationError.self) { try InputSpecification(text) }
        #expect(!error.description.contains("secret") && error.description.hasSuffix("."), "\(error)")
    }
}
