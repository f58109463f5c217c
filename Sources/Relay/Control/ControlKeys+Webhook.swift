// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Control
internal import Glibc
internal import Media
internal import Networking
internal import Status
internal import Studio

extension ControlKeys.Webhook {
    /// Reads a webhook in the form of the flag: `address#secret=…,events=output+alarm,level=warning,tls-ca=file`.
    /// Throws a sentence without secrets.
    init(flag text: String) throws {
        let mark = text.firstIndex(of: "#") ?? text.endIndex
        url = String(text[..<mark])
        // References to secrets are replaced later, together with those of the configuration file.
        var options = try OptionList(behindMark: text[mark...].dropFirst(), of: "a webhook") { $0 }
        secret = try options.take("secret")
        events = try options.take("events").map { $0.split(separator: "+").map(String.init) } ?? []
        level = try options.take("level")
        authorities = try options.take("tls-ca")
        try options.finish()
    }
}

extension ControlKeys {
    /// The minimum length of a signing secret, in bytes; shorter secrets could be guessed.
    private static let shortestSecret = 12

    /// Checks `written`, and converts it to settings. `name` is the webhook's key.
    static func read(
        _ written: Webhook, _ name: String, _ secrets: SecretReferences
    ) throws(Fault) -> WebhookSettings {
        guard !written.url.isEmpty else { throw Fault(key: name, text: "It has no url.") }
        var settings = WebhookSettings(try endpoint(written.url, "\(name).url", secrets))
        if let secret = written.secret {
            let secret = try expanded(secret, "\(name).secret", secrets)
            guard secret.utf8.count >= shortestSecret else {
                throw Fault(key: "\(name).secret", text: "It has \(shortestSecret) characters or more.")
            }
            settings.secret = secret
        }
        let kinds = WebhookSettings.allKinds.map(\.rawValue)
        for kind in written.events where !kinds.contains(kind) {
            let near = EditDistance.nearest(to: kind, among: kinds)
            let all = kinds.joined(separator: ", ")
            throw Fault(
                key: "\(name).events",
                text: "There is no such kind of event\(near.map { "; is \($0) meant?" } ?? ": there are \(all).")")
        }
        settings.kinds = Set(written.events.compactMap(EventKind.init(rawValue:)))
        if let level = written.level {
            guard let level = ControlEvent.Level(rawValue: level) else {
                throw Fault(key: "\(name).level", text: "It is info, notice, warning or error.")
            }
            settings.level = level
        }
        if let file = written.authorities {
            guard access(file, R_OK) == 0 else { throw Fault(key: "\(name).tlsCa", text: "The file cannot be read.") }
            settings.trust = .authority(file: file)
        }
        return settings
    }

    private static func endpoint(
        _ url: String, _ key: String, _ secrets: SecretReferences
    ) throws(Fault) -> HTTPEndpoint {
        let address = try expanded(url, key, secrets)
        do throws(AddressError) {
            return try HTTPEndpoint(address)
        } catch {
            throw Fault(key: key, text: "\(error)")
        }
    }

    private static func expanded(
        _ text: String, _ key: String, _ secrets: SecretReferences
    ) throws(Fault) -> String {
        do throws(SecretReferenceError) {
            return try secrets.expand(text)
        } catch {
            throw Fault(key: key, text: "\(error)")
        }
    }
}
