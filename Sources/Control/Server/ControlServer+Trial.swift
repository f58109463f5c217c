// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
internal import NIOCore
internal import NIOPosix

extension ControlServer {
    /// A place at which the server is to listen, and why it cannot.
    package struct Trial: Sendable {
        /// The address, or the path of the socket.
        package let place: String
        /// Nil if the server can listen there.
        package let failure: Failure?
    }

    /// Tries to listen wherever `settings` say, without serving any client, and reads the certificate. Blocks.
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
