// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import Page

/// Serves the web page, its files and the description of the API, which are built into the executable.
struct PageRoutes {
    /// The content security policy. It forbids external content, inline content, and frames.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        + "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    var endpoints: [Endpoint] {
        var count = 0
        guard let first = relay_assets(&count) else { return [] }
        return UnsafeBufferPointer(start: first, count: count).flatMap { asset -> [Endpoint] in
            let path = "/" + String(cString: asset.path)
            let type = String(cString: asset.type)
            let body = ByteBuffer(bytes: UnsafeBufferPointer(start: asset.bytes, count: asset.count))
            let headers: HTTPFields = [
                .contentType: type, .contentSecurityPolicy: Self.policy, .cacheControl: "no-cache",
            ]
            return [
                Endpoint(.get, path, .none) { _ in
                    Response(status: .ok, headers: headers, body: .init(byteBuffer: body))
                },
                Endpoint(.head, path, .none) { _ in
                    Response(
                        status: .ok, headers: headers,
                        body: .init(contentLength: body.readableBytes) { writer in
                            try await writer.finish(nil)
                        })
                },
            ]
        }
    }
}
