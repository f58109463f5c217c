// SPDX-License-Identifier: Apache-2.0

import Ingest
import Testing

@Suite("An input's location")
struct InputLocationTests {
    @Test("A path is a file, whatever colons are in it", arguments: ["/a/b.mp4", "b.mp4", "12:30 news.mp4", "a:b.ts"])
    func paths(text: String) {
        let location = InputLocation(text)
        #expect(location.isFile)
        #expect(location.isLiveByNature == false)
        #expect(location.description == text)
    }

    @Test("A file URL is a file")
    func fileURL() {
        #expect(InputLocation("file:/a/b.mp4").isFile)
        #expect(InputLocation("file:///a/b.mp4").description == "/a/b.mp4")
    }

    @Test("The test signal is no file and waits")
    func testSignal() {
        #expect(InputLocation("test:").isTest)
        #expect(!InputLocation("test:").isFile)
        #expect(InputLocation("test:").isLiveByNature == false)
    }

    @Test(
        "What comes at its own pace is live by nature",
        arguments: [
            "rtmp://h/a/k", "RTMPS://h/a/k", "rtsp://h/x", "srt://h:1?mode=listener", "udp://@:5", "rtp://h:4",
            "tcp://h:4", "v4l2:/dev/video0", "alsa:default", "pulse:default", "x11grab::0.0",
        ])
    func live(text: String) { #expect(InputLocation(text).isLiveByNature == true) }

    @Test("Only the opened input tells whether HTTP is live")
    func http() {
        #expect(InputLocation("https://h/x.m3u8").isLiveByNature == nil)
        #expect(InputLocation("lavfi:testsrc2").isLiveByNature == false)
    }

    @Test(
        "The shown form keeps secrets",
        arguments: [
            ("rtmp://u:p@h:1935/live/secretkey", "rtmp://h:1935/live/se…"),
            ("rtmp://h/live/secretkey?token=x", "rtmp://h/live/se…?…"),
            ("rtmps://h/live/k", "rtmps://h/live/k…"),
            ("rtmp://h/live/", "rtmp://h/live/"),
            ("rtmp://host", "rtmp://host"),
            ("https://u:p@h/x.m3u8?sig=abc", "https://h/x.m3u8?…"),
            ("srt://h:9000?passphrase=0123456789&streamid=x", "srt://h:9000?…"),
            ("rtsp://admin:p@ss@cam/stream", "rtsp://cam/stream"),
        ])
    func masking(text: String, shown: String) { #expect(InputLocation(text).description == shown) }

    @Test("Errors name the masked form and not the key")
    func errors() {
        let error = IngestError.cannotBeOpened(
            input: InputLocation("rtmp://h/live/secretkey").description, reason: "Connection refused")
        #expect(error.description == "The input rtmp://h/live/se… cannot be opened: Connection refused.")
    }
}
