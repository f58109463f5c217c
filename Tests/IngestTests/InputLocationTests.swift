// SPDX-License-Identifier: Apache-2.0

import LibAV
import Testing

@testable import Ingest

@Suite("Address of an input")
struct InputLocationTests {
    @Test(
        "An input address that is a path counts as a file, even if it contains colons",
        arguments: ["/a/b.mp4", "b.mp4", "12:30 news.mp4", "a:b.ts"])
    func paths(text: String) {
        let location = InputLocation(text)
        #expect(location.isFile)
        #expect(location.isLiveByNature == false)
        #expect(location.description == text)
    }

    @Test("An input address that is a file URL counts as a file")
    func fileURL() {
        #expect(InputLocation("file:/a/b.mp4").isFile)
        #expect(InputLocation("file:///a/b.mp4").description == "/a/b.mp4")
    }

    @Test("The test signal counts neither as a file nor as live")
    func testSignal() {
        #expect(InputLocation("test:").isTest)
        #expect(!InputLocation("test:").isFile)
        #expect(InputLocation("test:").isLiveByNature == false)
    }

    @Test(
        "Inputs of network protocols and devices always count as live",
        arguments: [
            "rtmp://h/a/k", "RTMPS://h/a/k", "rtsp://h/x", "srt://h:1?mode=listener", "udp://@:5", "rtp://h:4",
            "tcp://h:4", "v4l2:/dev/video0", "alsa:default", "pulse:default", "x11grab::0.0",
        ])
    func live(text: String) { #expect(InputLocation(text).isLiveByNature == true) }

    @Test("A device that captures only video, and an input with audio=no, are known to have no audio")
    func noAudio() {
        for text in ["v4l2:/dev/video0", "x11grab::0.0", "kmsgrab:-", "fbdev:/dev/fb0", "a.mp4#audio=no"] {
            #expect(InputLocation(text).hasNoAudio, "\(text)")
        }
        for text in ["alsa:default", "lavfi:sine", "test:", "a.mp4", "a.mp4#audio=yes", "srt://h:1?mode=listener"] {
            #expect(!InputLocation(text).hasNoAudio, "\(text)")
        }
    }

    @Test("Options of devices, HTTP and RTSP become libavformat options, and a header is not shown in the address")
    func connections() {
        func values(_ text: String) -> [String: String] {
            let location = InputLocation(text)
            #expect(location.fault == nil, "\(text)")
            return location.demuxerSettings(IngestOptions()).options.values
        }
        #expect(values("v4l2:/dev/video0#pixel-format=MJPG")["input_format"] == "mjpeg")
        #expect(values("v4l2:/dev/video0#pixel-format=yuyv422")["input_format"] == "yuyv422")
        let audio = values("alsa:hw:1#sample-rate=44100,capture-channels=1")
        #expect(audio["sample_rate"] == "44100" && audio["channels"] == "1")
        let http = values("http://h/x#header=Authorization: Bearer a%2Cb,header=X-Key: c")
        #expect(http["headers"] == "Authorization: Bearer a,b\r\nX-Key: c\r\n" && http["max_reload"] != nil)
        #expect(InputLocation("http://h/x#header=X-Key: c").description == "http://h/x")
        let udp = values("rtsp://h/x#transport=udp")
        #expect(udp["rtsp_transport"] == "udp" && udp["rtsp_flags"] == nil)
        #expect(values("rtsp://h/x")["rtsp_flags"] == "prefer_tcp")
    }

    @Test(
        "An invalid or misplaced connection option is named in the error, without its value",
        arguments: [
            ("v4l2:/dev/video0#pixel-format=secret", "pixel-format"), ("rtsp://h/x#transport=secret", "tcp or udp"),
            ("alsa:hw:1#sample-rate=7999", "sample-rate"), ("alsa:hw:1#capture-channels=0", "capture-channels"),
            ("http://h/x#header=secret", "header is one line"), ("http://h/x#header=a b: secret", "header is one line"),
            ("rtsp://h/x#pixel-format=MJPG", "v4l2: devices"), ("rtsp://h/x#header=A: secret", "http:// and https://"),
            ("http://h/x#transport=tcp", "rtsp://"), ("v4l2:/dev/video0#sample-rate=48000", "audio devices"),
        ])
    func connectionFaults(text: String, sentence: String) throws {
        let fault = try #require(InputLocation(text).fault)
        #expect(fault.contains(sentence) && !fault.contains("secret"), "\(fault)")
    }

    @Test("Whether an HTTP input is live is unknown until it is opened")
    func http() {
        #expect(InputLocation("https://h/x.m3u8").isLiveByNature == nil)
        #expect(InputLocation("lavfi:testsrc2").isLiveByNature == false)
    }

    @Test(
        "The printed form of an input address masks its secrets",
        arguments: [
            ("rtmp://u:p@h:1935/live/secretkey", "rtmp://h:1935/live/se***"),
            ("rtmp://h/live/secretkey?token=x", "rtmp://h/live/se***?…"),
            ("rtmps://h/live/k", "rtmps://h/live/***"),
            ("rtmp://h/live/", "rtmp://h/live/"),
            ("rtmp://host", "rtmp://host"),
            ("https://u:p@h/x.m3u8?sig=abc", "https://h/x.m3u8?…"),
            ("srt://h:9000?passphrase=0123456789&streamid=x", "srt://h:9000?…"),
            ("rtsp://admin:p@ss@cam/stream", "rtsp://cam/stream"),
            ("rtsp://admin:pa/ss@cam/stream", "rtsp://cam/stream"),
            ("http://cam:80/a@b", "http://cam:80/a@b"), ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ])
    func masking(text: String, shown: String) { #expect(InputLocation(text).description == shown) }

    @Test(
        "The secrets of an address are masked, even with nested protocols, or with fewer than two slashes",
        arguments: [
            ("cache:https://u:secret@h/x", "cache:https://h/x"),
            ("async:cache:https://u:secret@h/x?secret", "async:cache:https://h/x?…"),
            ("crypto:rtmp://h/live/secret", "crypto:rtmp://h/live/se***"),
            ("hls+https://u:secret@h/x.m3u8", "hls+https://h/x.m3u8"),
            ("rtmp:/host/live/secret", "rtmp:…"), ("RTMPS:host/live/secret", "rtmps:…"), ("srt:secret", "srt:…"),
            ("cache:rtmp:/host/live/secret", "cache:rtmp:…"), ("other:https://u:secret@h/x", "other:https://h/x"),
            ("concat:http://a/x|http://u:secret@b/y", "concat:…"),
            ("subfile,,start,0,end,9,,:https://u:secret@h/x", "subfile:…"),
            ("my https://u:secret@h/x", "my https://…"),
        ])
    func nested(text: String, shown: String) {
        #expect(InputLocation(text).description == shown)
    }

    @Test(
        "The secrets of an address within a device's name are masked, whether or not they are escaped",
        arguments: [
            "lavfi:movie=rtmp://host/app/secret", #"lavfi:movie=rtmp\://host/app/secret"#,
            #"lavfi:movie=https\:\/\/u\:secret@h/x,scale=2:2"#, #"LAVFI:amovie=https\\\://u:secret@h/x"#,
            "lavfi:movie=a.mp4:format_opts=decryption_key=secret", "lavfi:movie=https':'//u:secret@h/x",
            "x11grab:https://u:secret@h",
        ])
    func addressInDevice(text: String) {
        let location = InputLocation(text)
        let scheme = text.prefix { $0 != ":" }.lowercased()
        #expect(location.description == scheme + ":…")
        #expect(location.isLiveByNature == (scheme != "lavfi"))
        #expect(InputLocation("lavfi:movie=/a/b.mp4:s=1").description == "lavfi:movie=/a/b.mp4:s=1")
    }

    @Test(
        "An address without its two slashes is refused with an error that does not contain the key",
        arguments: ["rtmp:/host/live/secret", "https:host/secret", "SRT:secret", "cache:rtmp:/host/live/secret"])
    func fault(text: String) throws {
        let fault = try #require(InputLocation(text).fault)
        #expect(fault.contains("://") && !fault.contains("secret"))
        #expect(!InputLocation(text).isFile)
    }

    @Test(
        "An invalid SRT address is refused with an error that does not contain secrets",
        arguments: [
            ("srt://h:9000?passphrase=secret", "10 to 79"), ("srt://h", "no port"),
            ("srt://h:9000?secret=1", "unknown"),
            ("srt://h:9000?latency=200000", "60000"), ("SRT://:9000?mode=caller", "no host"),
        ])
    func srtFault(text: String, part: String) throws {
        let fault = try #require(InputLocation(text).fault)
        #expect(fault.contains(part) && !fault.contains("secret"))
        #expect(InputLocation("srt://:9000?takeover=yes&streamid=#!::r=a,m=publish#latency=1s").fault == nil)
    }

    @Test(
        "A valid address, path or device is accepted",
        arguments: [
            "rtmp://h/live/key", "cache:https://h/x", "cache:/a/b.mp4", "/a/b", "12:30 news.mp4", "a:b.ts", "test:",
            "v4l2:/dev/video0", "pipe:0", "concat:a.ts|b.ts", "HTTPS://h/x",
        ])
    func noFault(text: String) { #expect(InputLocation(text).fault == nil) }

    @Test("In a nested address the innermost protocol decides whether the input is live")
    func nestedPace() {
        #expect(InputLocation("cache:https://h/x").isLiveByNature == nil)
        #expect(InputLocation("hls+http://h/x").isLiveByNature == nil)
        #expect(InputLocation("async:rtmp://h/a/k").isLiveByNature == true)
        #expect(InputLocation("cache:/a/b.mp4").isLiveByNature == false)
    }

    @Test("An address into which secrets were inserted is printed with its placeholders")
    func shownAs() {
        let location = InputLocation("http://h/secret/x", shownAs: "http://h/${TOKEN}/x")
        #expect(location.description == "http://h/${TOKEN}/x")
        #expect(InputLocation("rtmp://h/a/k", shownAs: "${ALL}").description == "${ALL}")
    }

    @Test("Errors about an input contain the masked address and not the key")
    func errors() {
        let error = IngestError.cannotBeOpened(
            input: InputLocation("rtmp://h/live/secretkey").description, reason: "Connection refused")
        #expect(error.description == "The input rtmp://h/live/se*** cannot be opened: Connection refused.")
    }

    @Test("The option latency= of an address sets the minimum buffer of a live input")
    func latency() {
        let location = InputLocation("srt://h:9000?mode=caller#latency=400ms")
        #expect(location.latency == .milliseconds(400) && location.fault == nil)
        #expect(location.place == .url(scheme: "srt", text: "srt://h:9000?mode=caller"))
        #expect(InputLocation("v4l2:/dev/video0#latency=0").latency == .zero)
        #expect(InputLocation("udp://@:5000").latency == nil)
        // A file's name may contain any character.
        #expect(InputLocation("a#latency=1s.mp4").place == .file(path: "a#latency=1s.mp4"))
        for text in ["udp://@:5000#latency=", "udp://@:5000#latency=soon", "udp://@:5000#latency=1h"] {
            #expect(InputLocation(text).fault?.contains("#latency=") == true)
        }
    }

    @Test("The option reference= accepts yes or no, and only for a live input")
    func reference() {
        #expect(InputLocation("srt://host:1#reference=yes").isReference)
        #expect(InputLocation("alsa:hw:1#reference=yes,audio-offset=40ms").isReference)
        #expect(!InputLocation("srt://host:1#reference=no").isReference)
        #expect(!InputLocation("srt://host:1").isReference)
        #expect(InputLocation("srt://host:1#reference=yes").fault == nil)
        #expect(InputLocation("srt://host:1#reference=maybe").fault != nil)
        #expect(InputLocation("lavfi:testsrc2#reference=yes").fault?.contains("live") == true)
    }
}
