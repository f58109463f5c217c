// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// Serves the web page, its files and the description of the API, which are built into the executable.
struct PageRoutes {
    /// The content security policy. It forbids external content, inline content, and frames.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        + "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    var endpoints: [Endpoint] {
        BuiltInFile.all.map { file in
            let headers: HTTPFields = [
                .contentType: file.type, .contentSecurityPolicy: Self.policy, .cacheControl: "no-cache",
            ]
            return Endpoint(.get, "/" + file.path, .none) { _ in
                Response(status: .ok, headers: headers, body: .init(byteBuffer: file.content))
            }
        }
    }
}
