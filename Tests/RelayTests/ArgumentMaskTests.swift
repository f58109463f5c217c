// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Relay

@Suite("Hiding secrets from the process list")
struct ArgumentMaskTests {
    private func masked(_ address: String) -> String {
        var bytes = Array(address.utf8)
        for index in ArgumentMask.secretRange(in: bytes) ?? 0..<0 { bytes[index] = UInt8(ascii: "x") }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        "In the process list an address shows only its scheme and host, without user, path and query",
        arguments: [
            ("rtmp://host/live/key", "rtmp://host/xxxxxxxx"),
            ("rtmp://host:1935/live/key?token=1", "rtmp://host:1935/xxxxxxxxxxxxxxxx"),
            ("srt://host:9000?passphrase=abc", "srt://host:9000?xxxxxxxxxxxxxx"),
            ("rtmp://me:pass@host/live/key", "rtmp://xxxxxxxxxxxxxxxxxxxxx"),
            ("srt://host:9000", "srt://host:9000"), ("show.mp4", "show.mp4"), ("test:", "test:"), ("", ""),
            ("://", "://"),
            ("cache:https://u:p@host", "cache:https://xxxxxxxx"), ("rtmp:/host/live/key", "rtmp:xxxxxxxxxxxxxx"),
            ("cache:rtmp:/host/live/key", "cache:xxxxxxxxxxxxxxxxxxx"), ("12:30 news.mp4", "12:30 news.mp4"),
            ("rtmp://", "rtmp://"), ("rtmp://host/", "rtmp://host/"),
        ])
    func hides(address: String, shown: String) {
        #expect(masked(address) == shown)
    }

    @Test(
        "In the process list the stream key of an address in a filter graph is hidden, whatever escapes it contains",
        arguments: [
            ("lavfi:movie=rtmp://host/live/key", "lavfi:movie=rtmp://host/xxxxxxxx"),
            (#"lavfi:movie=rtmp\://host/live/key"#, #"lavfi:movie=rtmp\://host/xxxxxxxx"#),
            (#"lavfi:movie=rtmp\:\/\/host/live/key"#, #"lavfi:movie=rtmp\:\/\/host/xxxxxxxx"#),
            (#"lavfi:movie=https\://u\:p@h"#, #"lavfi:movie=https\://xxxxxx"#),
            ("lavfi:testsrc2=s=2x2:r=1", "lavfi:testsrc2=s=2x2:r=1"),
            ("lavfi:movie=https':'//u@h", "lavfi:movie=https':'//xxx"),
        ])
    func filters(address: String, shown: String) {
        #expect(masked(address) == shown)
    }

    @Test(
        "In the process list the credentials in a filter graph are hidden, even if it contains no ://",
        arguments: [
            ("lavfi:movie=a.mp4:format_opts=decryption_key=0af", "lavfi:movie=a.mp4:format_opts=decryption_key=xxx"),
            (
                #"lavfi:movie=a.mp4:format_opts='decryption_key\=0af'"#,
                #"lavfi:movie=a.mp4:format_opts='decryption_key\=xxxx"#
            ),
            ("lavfi:amovie=srt:passphrase=abc:s=1", "lavfi:amovie=srt:passphrase=xxxxxxx"),
            ("lavfi:movie=a:srt_streamid=abc", "lavfi:movie=a:srt_streamid=xxx"),
            ("lavfi:movie=a:srtp_out_params=abc", "lavfi:movie=a:srtp_out_params=xxx"),
            ("lavfi:movie=a:key=b,movie=http\\://h/x", "lavfi:movie=a:key=xxxxxxxxxxxxxxxxxxx"),
            ("lavfi:movie=x,chromakey=green,lowpass=f=3", "lavfi:movie=x,chromakey=green,lowpass=f=3"),
            ("key=news.mp4", "key=news.mp4"),
        ])
    func credentials(address: String, shown: String) {
        #expect(masked(address) == shown)
    }

    @Test("An error message that quotes the command's arguments does not show the stream key in them")
    func messages() {
        let arguments = ["relay", "--rtmp", "rtmp://a/live/key", "rtmp://b/live/topsecret", "://"]
        let message = ArgumentMask.hidingSecrets(of: arguments, in: "Unexpected argument 'rtmp://b/live/topsecret'")
        #expect(message == "Unexpected argument 'rtmp://b/***'")
    }
}
