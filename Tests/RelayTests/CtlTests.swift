// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Media
import Testing

@testable import Channel
@testable import Networking
@testable import Relay

@Suite("relay ctl")
struct CtlTests {
    @Test("relay ctl parses server-sent events that arrive in pieces of any size, and skips comments")
    func events() {
        let text =
            "event: hello\ndata: {\"a\":1}\n\n: ping\n\nid: 7\nevent: event\r\ndata: one\r\ndata: two\r\n\r\ndata:x\n\nda"
        for size in [1, 2, 7, 1000] {
            var parser = EventStreamParser()
            let bytes = Array(text.utf8)
            let messages = stride(from: 0, to: bytes.count, by: size).flatMap {
                parser.take(Array(bytes[$0..<min($0 + size, bytes.count)]))
            }
            #expect(
                messages == [
                    .init(event: "hello", data: "{\"a\":1}"), .init(event: "event", data: "one\ntwo", id: "7"),
                    .init(data: "x"),
                ])
        }
    }

    // Regression: the accent made another character of the colon, so that the line had no field; a carriage return alone
    // ended no line.
    @Test("relay ctl reads server-sent events by their bytes, and ends a line at a carriage return, too")
    func eventBytes() {
        var parser = EventStreamParser()
        let text = "data:\u{301}a\rid:  7\r\r\nevent:\ndata\ndata:\n\rid:a\0b\ndata:b\n\n"
        #expect(
            parser.take(Array(text.utf8)) == [
                .init(data: "\u{301}a", id: " 7"), .init(data: "\n"), .init(data: "b"),
            ])
    }

    // Regression: a message of many lines without an end was kept as a whole, however long it was.
    @Test("relay ctl keeps only the beginning of a server-sent event that is too long")
    func longEvents() {
        var parser = EventStreamParser(longest: 8)
        let text = "data:abcdefghi\ndata:x\n" + String(repeating: "data:yz\n", count: 1000) + "\ndata:c\n\n"
        #expect(parser.take(Array(text.utf8)) == [.init(data: "abc\nx\ny"), .init(data: "c")])
    }

    // Regression: a number that does not fit in an integer ended the command by a trap.
    @Test("relay ctl prints a status whatever numbers the server sends", arguments: ["1e300", "-1e300", "0.5"])
    func numbers(number: String) throws {
        for integer in ["\(Int64.max)", "\(Int64.min)", "1"] {
            let json = """
                {"name":"one","state":"on_air","problems":\(integer),"programSeconds":\(number),
                 "runDown":{"name":"show","state":"held","loops":false,"rounds":0,"lateFrames":\(integer),
                  "remainingSeconds":\(number),"current":{"index":\(integer),"name":"talk","view":"cam1",
                   "frame":\(integer),"elapsedSeconds":\(number),"remainingSeconds":\(number)}},
                 "outputs":[{"name":"a","state":"live","liveSeconds":\(number),"roundTripSeconds":\(number),
                  "queue":{"milliseconds":\(number),"droppedFrames":\(integer)}},
                  {"name":"b","state":"backing_off","nextAttemptSeconds":\(number)}],
                 "recorder":{"state":"recording","segmentSeconds":\(number),"totalBytes":\(integer)},
                 "storage":{"state":"ok","freeBytes":\(integer),"secondsUntilFull":\(number)}}
                """
            let text = try JSONDecoder().decode(CtlChannel.self, from: Data(json.utf8)).text
            #expect(text.hasPrefix("one  on air"))
        }
    }

    @Test("relay ctl prints a channel's status in columns, with its problems")
    func status() throws {
        let json = """
            {"name":"one","state":"on_air","problems":2,"programSeconds":3723.4,"isRecordingWanted":false,"extra":1,
             "sources":[{"name":"cam1","state":"waiting","lastError":"no answer"}],
             "parts":[{"name":"cam1","isOnAir":true},{"name":"cam2","isOnAir":true}],
             "runDown":{"name":"show","state":"held","loops":false,"rounds":0,"lateFrames":0,
              "current":{"index":0,"name":"talk","view":"cam1","frame":0,"elapsedSeconds":1}},
             "outputs":[
              {"name":"a","state":"live","address":"rtmp://host/***","liveSeconds":61,"endpoint":"backup",
               "queue":{"milliseconds":12,"droppedFrames":3},"roundTripSeconds":0.0123},
              {"name":"second","state":"backing_off","address":"srt://host:1","detail":"connect: refused",
               "nextAttemptSeconds":1.25},
              {"name":"pull","state":"waiting","address":"srt://host:2","detail":"waiting for a caller"}],
             "recorder":{"state":"stopped","totalBytes":1500000},
             "storage":{"state":"ok","freeBytes":2500,"secondsUntilFull":60},
             "secondRecording":{"directory":"/b","recorder":{"state":"failed","lastError":"no disk"},
              "storage":{"state":"stopped","freeBytes":0}}}
            """
        let channel = try JSONDecoder().decode(CtlChannel.self, from: Data(json.utf8))
        #expect(
            channel.text == """
                one  on air  01:02:03  2 problems
                   input     cam1    waiting                  no answer
                                     on air                   cam1+cam2
                   run-down  show    held                     talk (1)
                   output    a       live                     00:01:01  rtmp://host/***  at backup  queue 12 ms  rtt 12.3 ms  \
                dropped 3
                   output    second  backing_off              srt://host:1  connect: refused  again in 1.3 s
                   output    pull    waiting for a caller     srt://host:2
                   record            stopped by the operator  1.5 MB
                   disk              ok                       2.5 kB free  full in 00:01:00
                   also      /b
                   record            failed                   no disk
                   disk              stopped                  0 B free

                """)
    }

    @Test("relay ctl prints a state that this version does not know as the server sent it")
    func unknownStates() throws {
        let json = """
            {"name":"one","state":"half_open","problems":0,"outputs":[{"name":"a","state":"sleeping","detail":"why",
              "endpoint":"moon"}],
             "recorder":{"state":"burning"},"storage":{"state":"wet"}}
            """
        let text = try JSONDecoder().decode(CtlChannel.self, from: Data(json.utf8)).text
        #expect(text.hasPrefix("one  half open  well\n"))
        for word in ["sleeping", "burning", "wet"] { #expect(text.contains("  \(word)"), "\(text)") }
        let clips = #"{"clips":[{"id":"a","state":"frozen","start":"2026-11-21T14:03:10.000Z"}]}"#
        let read = try JSONDecoder().decode(CtlClips.self, from: Data(clips.utf8))
        #expect(read.text.hasPrefix("a  frozen") && read.pressedLast == nil)
    }

    @Test("relay ctl lists recordings, even if the server leaves out some of their properties")
    func recordings() throws {
        let json = """
            {"recordings":[{"id":"12","name":"a.mp4","start":"2026-11-21T14:03:10.000Z","durationSeconds":60,"bytes":10,
             "state":"finished","isHeld":true},{"id":"b1","name":"b.mp4","start":"2026-11-21T14:04:10.000Z"}],"gaps":[],
             "deletesNext":[{"name":"b.mp4","bytes":20,"about":"2026-11-21T15:00:00.000Z"},{"name":"c.mp4"}]}
            """
        let text = try JSONDecoder().decode(CtlRecordings.self, from: Data(json.utf8)).text
        #expect(text.split(separator: "\n").map { $0.prefix(3) } == ["12 ", "b1 ", "del", "del"])
        #expect(text.contains("held  a.mp4") && text.contains("deleted next  about 2026-11-21T15:00:00.000Z"))
    }

    @Test("relay ctl lists uploads with their checksums and places")
    func uploads() throws {
        let json = """
            {"uploads":[{"name":"a.mp4","bytes":10,"sha256":"ab","place":"archive:a.mp4","time":"2026-11-21T14:03:10.000Z"},
             {"name":"b.mp4","bytes":20,"place":"/bin/hook","time":"2026-11-21T14:04:10.000Z"}]}
            """
        #expect(
            try JSONDecoder().decode(CtlUploads.self, from: Data(json.utf8)).text == """
                2026-11-21T14:03:10.000Z  10 B  ab  a.mp4  archive:a.mp4
                2026-11-21T14:04:10.000Z  20 B      b.mp4  /bin/hook

                """)
        #expect(ControlAPI.query(from: nil, to: nil) == "" && ControlAPI.query(from: nil, to: "a b") == "?to=a%20b")
        #expect(ControlAPI.query(from: "a", to: nil, limit: 7) == "?from=a&limit=7")
    }

    @Test("relay ctl shows only the host of a server's address, and escapes names in the URLs that it requests")
    func endpoints() throws {
        let endpoint = try HTTPEndpoint("https://user:topsecret@[::1]:8443/base/topsecret?key=topsecret")
        #expect(endpoint.name == "[::1]:8443" && endpoint.path == "/base/topsecret?key=topsecret")
        #expect(endpoint.authorization == "Basic " + Data("user:topsecret".utf8).base64EncodedString())
        #expect(ControlAPI.encoded("a/b c?é.1") == "a%2Fb%20c%3F%C3%A9.1")
        for wrong in ["topsecret", "rtmp://host/topsecret", "http:///topsecret", "http://host/ö", "http://host/a#b"] {
            let error = #expect(throws: AddressError.self) { try HTTPEndpoint(wrong) }
            #expect(error?.description.contains("topsecret") == false)
        }
    }

    @Test("The subcommands of relay ctl are parsed, and incompatible flags are refused")
    func flags() throws {
        let set = try RelayCommand.parseAsRoot(["ctl", "output", "set", "a", "udp://host:1", "--channel", "c"])
        #expect((set as? CtlOutputSetCommand)?.output.name == "a")
        let events = try RelayCommand.parseAsRoot(["ctl", "events", "--follow", "--url", "http://h", "--token", "t"])
        #expect((events as? CtlEventsCommand)?.follow == true)
        let uploads = try RelayCommand.parseAsRoot(["ctl", "upload", "list", "--last", "10000"])
        #expect((uploads as? CtlUploadListCommand)?.last == 10_000)
        for wrong in [
            ["ctl", "upload", "list", "--last", "0"], ["ctl", "upload", "list", "--last", "10001"],
            ["ctl", "status", "--url", "http://h", "--socket", "s"], ["ctl", "status", "--token", "t"],
            ["ctl", "export", "--from", "x", "--to", "y"], ["ctl", "output", "pause"],
        ] { #expect(throws: (any Error).self) { try RelayCommand.parseAsRoot(wrong) } }
    }

    @Test("--on-publish and --on-play accept an executable program or a server's address")
    func decisions() throws {
        #expect(try ClientDecision("/bin/true", of: "--on-publish") == .program("/bin/true"))
        let secrets = SecretReferences { _ in "topsecret" }
        let server = try ClientDecision("https://host/a?k=${K}", of: "--on-play", secrets: secrets)
        #expect(server == .server(try HTTPEndpoint("https://host/a?k=topsecret")))
        for wrong in ["/bin/topsecret-none", "https://", "http://host/a b${K}"] {
            let fault = #expect(throws: TextFailure.self) {
                try ClientDecision(wrong, of: "--on-play", secrets: secrets)
            }
            #expect(fault?.description.contains("--on-play") == true)
        }
    }
}
