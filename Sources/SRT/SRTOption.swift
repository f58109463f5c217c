// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Glibc
internal import Networking

/// The socket options that an SRT address may contain. They have the names that `srt-live-transmit` and FFmpeg use.
enum SRTOption: String, CaseIterable, Sendable {
    case latency, rcvlatency, peerlatency, passphrase, pbkeylen, streamid
    case connectTimeout = "connect_timeout"
    case peerIdleTimeout = "peeridletimeo"
    case maxbw, inputbw, oheadbw, ipttl, iptos, mss, fc, sndbuf, rcvbuf
    case payloadSize = "payload_size"
    case tlpktdrop, snddropdelay, nakreport, linger, packetfilter, minversion
    case enforcedEncryption = "enforced_encryption"
    case kmrefreshrate, kmpreannounce, ipv6only, lossmaxttl

    /// Other names of options that are accepted, including libsrt's own names.
    static let aliases: [String: String] = [
        "conntimeo": "connect_timeout", "pkt_size": "payload_size", "payloadsize": "payload_size", "ttl": "ipttl",
        "tos": "iptos", "enforcedencryption": "enforced_encryption", "srt_streamid": "streamid", "ffs": "fc",
        "send_buffer_size": "sndbuf", "recv_buffer_size": "rcvbuf", "adapter": "localaddr",
    ]

    /// The type and range of an option's value.
    enum Kind: Equatable {
        case integer(ClosedRange<Int64>)
        case wide(ClosedRange<Int64>)
        case flag
        case text(maximumBytes: Int)
        case version
        case linger
    }

    var kind: Kind {
        switch self {
        case .latency, .rcvlatency, .peerlatency: .integer(0...60_000)
        case .passphrase: .text(maximumBytes: 79)
        case .streamid: .text(maximumBytes: 512)
        case .packetfilter: .text(maximumBytes: 512)
        case .pbkeylen: .integer(0...32)
        case .connectTimeout, .peerIdleTimeout: .integer(1...600_000)
        case .maxbw: .wide(-1...Int64(Int32.max) * 1000)
        case .inputbw: .wide(0...Int64(Int32.max) * 1000)
        case .oheadbw: .integer(5...100)
        case .ipttl: .integer(1...255)
        case .iptos: .integer(0...255)
        case .mss: .integer(76...9000)
        case .payloadSize: .integer(188...1456)
        case .snddropdelay: .integer(-1...600_000)
        case .kmrefreshrate, .kmpreannounce, .fc, .sndbuf, .rcvbuf: .integer(0...Int64(Int32.max))
        case .lossmaxttl: .integer(0...100_000)
        case .tlpktdrop, .nakreport, .enforcedEncryption, .ipv6only: .flag
        case .minversion: .version
        case .linger: .linger
        }
    }

    var symbol: SRT_SOCKOPT {
        switch self {
        case .latency: SRTO_LATENCY
        case .rcvlatency: SRTO_RCVLATENCY
        case .peerlatency: SRTO_PEERLATENCY
        case .passphrase: SRTO_PASSPHRASE
        case .pbkeylen: SRTO_PBKEYLEN
        case .streamid: SRTO_STREAMID
        case .connectTimeout: SRTO_CONNTIMEO
        case .peerIdleTimeout: SRTO_PEERIDLETIMEO
        case .maxbw: SRTO_MAXBW
        case .inputbw: SRTO_INPUTBW
        case .oheadbw: SRTO_OHEADBW
        case .ipttl: SRTO_IPTTL
        case .iptos: SRTO_IPTOS
        case .mss: SRTO_MSS
        case .fc: SRTO_FC
        case .sndbuf: SRTO_SNDBUF
        case .rcvbuf: SRTO_RCVBUF
        case .payloadSize: SRTO_PAYLOADSIZE
        case .tlpktdrop: SRTO_TLPKTDROP
        case .snddropdelay: SRTO_SNDDROPDELAY
        case .nakreport: SRTO_NAKREPORT
        case .linger: SRTO_LINGER
        case .packetfilter: SRTO_PACKETFILTER
        case .minversion: SRTO_MINVERSION
        case .enforcedEncryption: SRTO_ENFORCEDENCRYPTION
        case .kmrefreshrate: SRTO_KMREFRESHRATE
        case .kmpreannounce: SRTO_KMPREANNOUNCE
        case .ipv6only: SRTO_IPV6ONLY
        case .lossmaxttl: SRTO_LOSSMAXTTL
        }
    }
}

/// The value of an option, after its validation.
enum SRTOptionValue: Equatable, Sendable {
    case integer(Int32)
    case wide(Int64)
    case flag(Bool)
    case text(String)
    case linger(seconds: Int32)

    /// Parses `text` as a value of `option`. The error does not repeat `text`, which may be a secret.
    init(_ text: String, of option: SRTOption) throws(AddressError) {
        switch option.kind {
        case .integer(let range): self = .integer(Int32(try Self.number(text, option, range)))
        case .wide(let range): self = .wide(try Self.number(text, option, range))
        case .flag:
            switch text.lowercased() {
            case "1", "true", "yes", "on": self = .flag(true)
            case "0", "false", "no", "off": self = .flag(false)
            default: throw AddressError("The SRT option \(option.rawValue) is 0 or 1.")
            }
        case .text(let maximum):
            guard text.utf8.count <= maximum else {
                throw AddressError("The SRT option \(option.rawValue) is longer than \(maximum) bytes.")
            }
            self = .text(text)
        case .version: self = .integer(try Self.version(text))
        case .linger: self = .linger(seconds: Int32(try Self.number(text, option, 0...3600)))
        }
        try checkEncryption(of: option)
    }

    private func checkEncryption(of option: SRTOption) throws(AddressError) {
        if option == .passphrase, case .text(let phrase) = self, !(10...79).contains(phrase.utf8.count) {
            throw AddressError("The SRT passphrase must be 10 to 79 characters long.")
        }
        if option == .pbkeylen, case .integer(let length) = self, ![0, 16, 24, 32].contains(length) {
            throw AddressError("The SRT option pbkeylen is 0, 16, 24 or 32.")
        }
    }

    private static func number(
        _ text: String, _ option: SRTOption, _ range: ClosedRange<Int64>
    ) throws(AddressError) -> Int64 {
        guard let number = Int64(text), range.contains(number) else {
            throw AddressError(
                "The SRT option \(option.rawValue) is a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// Parses a version number such as `1.4.3` or `0x010403`.
    private static func version(_ text: String) throws(AddressError) -> Int32 {
        if text.hasPrefix("0x"), let number = Int32(text.dropFirst(2), radix: 16), number >= 0 { return number }
        let parts = text.split(separator: ".").map { UInt8($0) }
        guard parts.count == 3, let major = parts[0], let minor = parts[1], let patch = parts[2], major < 128 else {
            throw AddressError("The SRT option minversion is a version such as 1.4.0.")
        }
        return Int32(major) << 16 | Int32(minor) << 8 | Int32(patch)
    }
}

extension SRTOptionValue {
    /// Calls `body` with the value in the form that `srt_setsockflag` requires.
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch self {
        case .integer(let number): Swift.withUnsafeBytes(of: number, body)
        case .wide(let number): Swift.withUnsafeBytes(of: number, body)
        // A flag is passed as an int: most options accept a C++ bool or an int, but some accept only an int.
        case .flag(let flag): Swift.withUnsafeBytes(of: CInt(flag ? 1 : 0), body)
        case .linger(let seconds):
            Swift.withUnsafeBytes(of: Glibc.linger(l_onoff: seconds > 0 ? 1 : 0, l_linger: seconds), body)
        case .text(let text):
            text.utf8CString.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0.dropLast())) }
        }
    }
}
