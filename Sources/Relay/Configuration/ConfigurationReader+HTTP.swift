// SPDX-License-Identifier: Apache-2.0

internal import Studio

extension ConfigurationReader {
    /// Reads the settings of the HTTP server.
    mutating func readHTTP(_ node: ConfigurationNode) {
        httpMarks[""] = node.mark
        for entry in mapping(node, "http", "It is a mapping.") ?? [] {
            let key = "http.\(entry.key)"
            httpMarks[entry.key] = entry.node.mark
            switch entry.key {
            case "address": http.address = scalar(entry.node, key)
            case "socket": http.socket = scalar(entry.node, key)
            case "certificate": http.certificate = scalar(entry.node, key)
            case "key": http.key = scalar(entry.node, key)
            case "basePath": http.basePath = scalar(entry.node, key)
            case "hosts":
                http.hosts = sequence(entry.node, key).enumerated().compactMap {
                    scalar($1, "\(key)[\($0)]")
                }
            case "trustedProxies":
                http.trustedProxies = sequence(entry.node, key).enumerated().compactMap {
                    httpMarks["\(entry.key)[\($0)]"] = $1.mark
                    return scalar($1, "\(key)[\($0)]")
                }
            case "tokens": readTokens(entry.node, key)
            case "webhooks": readWebhooks(entry.node, key)
            default: unknown(entry, in: "http", known: Self.httpKeys)
            }
        }
    }

    /// The keys in `http`. The first four have equivalent flags.
    static let httpKeys = [
        "address", "socket", "tokens", "webhooks", "certificate", "key", "hosts", "basePath", "trustedProxies",
    ]
    /// The keys of an entry in `tokens`.
    static let tokenKeys = ["role", "token"]
    /// The keys of an entry in `webhooks`.
    static let webhookKeys = ["url", "secret", "events", "level", "tlsCa"]

    private mutating func readTokens(_ node: ConfigurationNode, _ key: String) {
        for (index, node) in sequence(node, key).enumerated() {
            let name = "\(key)[\(index)]"
            var token = ControlKeys.Token(role: "", token: "")
            for entry in mapping(node, name, "It is a mapping with role: and token:.") ?? [] {
                httpMarks["tokens[\(index)].\(entry.key)"] = entry.node.mark
                switch entry.key {
                case "role": token.role = scalar(entry.node, "\(name).role") ?? ""
                case "token": token.token = scalar(entry.node, "\(name).token") ?? ""
                default: unknown(entry, in: name, known: Self.tokenKeys)
                }
            }
            http.tokens.append(token)
        }
    }

    private mutating func readWebhooks(_ node: ConfigurationNode, _ key: String) {
        for (index, node) in sequence(node, key).enumerated() {
            let name = "\(key)[\(index)]"
            var webhook = ControlKeys.Webhook()
            for entry in mapping(node, name, "It is a mapping with url: and more.") ?? [] {
                let place = "\(name).\(entry.key)"
                httpMarks["webhooks[\(index)].\(entry.key)"] = entry.node.mark
                switch entry.key {
                case "url": webhook.url = scalar(entry.node, place) ?? ""
                case "secret": webhook.secret = scalar(entry.node, place)
                case "level": webhook.level = scalar(entry.node, place)
                case "tlsCa": webhook.authorities = scalar(entry.node, place)
                case "events":
                    webhook.events = sequence(entry.node, place).enumerated().compactMap {
                        scalar($1, "\(place)[\($0)]")
                    }
                default: unknown(entry, in: name, known: Self.webhookKeys)
                }
            }
            http.webhooks.append(webhook)
        }
    }

    private mutating func sequence(_ node: ConfigurationNode, _ key: String) -> [ConfigurationNode] {
        if case .sequence(let nodes) = node.content { return nodes }
        fault(node.mark, key, "It is a list, one behind each hyphen.")
        return []
    }
}
