// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import Networking
internal import SRT

extension InputLocation {
    /// Opens the next connection of an SRT input. If the media of a connected sender cannot be read, a listener
    /// continues to listen.
    func openSRT(at address: String, _ monitor: SourceMonitor) throws(IngestError) -> Demuxer {
        let name = description
        let fail = { (reason: String) in IngestError.cannotBeOpened(input: name, reason: reason) }
        let url: SRTURL
        do throws(AddressError) { url = try SRTURL(address, for: .input) } catch { throw fail(error.description) }
        let input = monitor.srtInput {
            SRTInput(url) { [logger = monitor.logger] in Self.log($0, of: name, logger) }
        }
        let options = Demuxer.Options(format: "mpegts", openTimeout: .seconds(15), readTimeout: .seconds(10))
        while true {
            let connection: SRTConnection?
            do throws(OutputFailure) { connection = try input.connect() } catch { throw fail(error.reason) }
            guard let connection else { throw fail("it was stopped") }
            let reason: String
            do throws(AVFailure) {
                let bytes = TransportStreamBytes(SRTBytes(connection, of: input))
                let demuxer = try Demuxer(
                    reading: bytes, options: options, interrupter: monitor.interrupter, subject: name)
                if !demuxer.streams.isEmpty || !input.isListening { return demuxer }
                reason = "its stream has neither video nor audio"
            } catch {
                if !input.isListening || monitor.isStopped { throw fail(error.message) }
                reason = "its stream cannot be read: \(error.message)"
            }
            input.refuse(connection, because: reason)
        }
    }

    private static func log(_ event: SRTInput.Event, of name: String, _ logger: Logger) {
        switch event {
        case .waiting: logger.info("waiting for an SRT sender", metadata: ["input": "\(name)"])
        case .connected(let address, let isEncrypted):
            logger.notice(
                "connected by SRT, \(isEncrypted ? "encrypted" : "in clear")",
                metadata: ["input": "\(name)", "address": "\(address)"])
        case .refused(let address, let reason):
            logger.warning(
                "a caller was sent away",
                metadata: ["input": "\(name)", "address": "\(address)", "reason": "\(reason)"])
        case .ended(let reason):
            logger.notice("the SRT connection was closed", metadata: ["input": "\(name)", "reason": "\(reason)"])
        case .dropped(let packets):
            logger.warning(
                "\(packets) SRT packets did not come in time and are missing; more latency would wait for them",
                metadata: ["input": "\(name)"])
        case .port(let text): logger.notice("\(text)", metadata: ["input": "\(name)"])
        }
    }
}

/// The bytes that arrive on an SRT connection. Closing this closes the connection.
private final class SRTBytes: ByteStream {
    private let connection: SRTConnection
    private let input: SRTInput

    init(_ connection: SRTConnection, of input: SRTInput) { (self.connection, self.input) = (connection, input) }

    deinit { connection.close() }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? { input.receive(from: connection, into: buffer) }
}
