// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
internal import NIOCore
internal import NIOPosix

extension ControlServer {
    /// The result of testing whether the server can listen at one address or one socket.
    package struct Trial: Sendable {
        /// The address, or the path of the socket.
        package let place: String
        /// Why the server cannot listen there; nil if it can.
        package let failure: Failure?
    }

    /// Tests whether the server can use the address, the socket and the certificate in `settings`. Serves no client.
    /// Blocks.
    package static func trial(of settings: ControlSettings, logger: Logger) -> [Trial] {
        var trials: [Trial] = []
        if let address = settings.address {
            trials.append(Trial(place: address.text, failure: failure(at: address, settings, logger)))
        }
        if let path = settings.socket {
            do throws(Failure) {
                _ = try ControlSocket(path)
                trials.append(Trial(place: path, failure: nil))
            } catch {
                trials.append(Trial(place: path, failure: error))
            }
        }
        return trials
    }

    private static func failure(
        at address: ControlSettings.Address, _ settings: ControlSettings, _ logger: Logger
    ) -> Failure? {
        do {
            if let pair = settings.certificate { _ = try CertificateFiles(pair, logger: logger) }
        } catch {
            return Failure(description: "The HTTP server's certificate cannot be used: \(error).")
        }
        do {
            let channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: address.host, port: address.port).wait()
            try channel.close().wait()
            return nil
        } catch {
            let isInUse = (error as? IOError)?.errnoCode == EADDRINUSE
            return Failure(
                description: "The HTTP server cannot listen at \(address.text): \(error).", isInUse: isInUse)
        }
    }
}
