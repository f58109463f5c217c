// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import LibAV
internal import Networking
internal import Status

/// One delivery: an event as JSON, with who sends it, and the signature.
struct WebhookMessage: Encodable {
    let event: ControlEvent
    /// This host's name.
    let host: String
    /// When the process began: with the event's number it makes an event unique.
    let startedAt: UTCTime
    /// Events left out before this one.
    let leftOut: UInt64

    private enum Key: String, CodingKey { case source, host, startedAt, leftOut }

    func encode(to encoder: any Encoder) throws {
        try event.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode("relay", forKey: .source)
        try container.encode(host, forKey: .host)
        try container.encode(startedAt.extended, forKey: .startedAt)
        if leftOut > 0 { try container.encode(leftOut, forKey: .leftOut) }
    }

    /// The request that delivers it at `time`, signed with `secret`.
    func request(at time: UTCTime, secret: String?) -> HTTPClient.Request {
        let body = JSON.encode(self)
        let stamp = "\(time.milliseconds / 1000)"
        var headers = [("Content-Type", "application/json"), ("X-Relay-Timestamp", stamp)]
        if let secret, let signature = WebhookSignature.text(of: body, at: stamp, secret: secret) {
            headers.append(("X-Relay-Signature", signature))
        }
        return HTTPClient.Request("POST", headers: headers, body: body)
    }
}

/// What shows that a delivery is ours: `sha256=` and HMAC-SHA256, in hexadecimal digits, of the time stamp, a full stop
/// and the body. The stamp is signed with it, so that an old delivery cannot be sent again as a new one.
enum WebhookSignature {
    /// The signature; nil when there is no memory.
    static func text(of body: [UInt8], at stamp: String, secret: String) -> String? {
        HMAC.sha256(Array("\(stamp).".utf8) + body, key: Array(secret.utf8)).map { bytes in
            "sha256="
                + bytes.map { byte in
                    let digits = String(byte, radix: 16)
                    return digits.count == 1 ? "0\(digits)" : digits
                }.joined()
        }
    }
}
