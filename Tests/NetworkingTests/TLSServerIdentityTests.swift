// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media
import Synchronization
import TLSSamples
import Testing

@testable import Networking

@Suite("The certificate of a listening port")
struct TLSServerIdentityTests {
    private final class Notices: Sendable {
        private let all = Mutex<[TLSServerIdentity.Notice]>([])
        func note(_ notice: TLSServerIdentity.Notice) { all.withLock { $0.append(notice) } }
        var told: [String] { all.withLock { $0.map(\.description) } }
        /// The notices that are errors.
        var errors: [String] { all.withLock { $0.filter(\.isError).map(\.description) } }
    }

    private let notices = Notices()
    private let files = TLSSamples.Files(TLSSamples.one)

    private func identity() throws(OutputFailure) -> TLSServerIdentity {
        try TLSServerIdentity(certificate: files.certificate, key: files.key) { [notices] in notices.note($0) }
    }

    /// The error for the two files.
    private func complaint() -> String? {
        do throws(OutputFailure) {
            _ = try identity()
            return nil
        } catch {
            return error.kind == .refused ? error.reason : nil
        }
    }

    @Test("A certificate with its matching key is accepted")
    func good() { #expect(complaint() == nil) }

    @Test("A certificate path that is missing or not a file is reported with the reason")
    func unreadable() {
        unlink(files.key)
        #expect(complaint() == "\(files.key) cannot be read: No such file or directory")
        unlink(files.certificate)
        mkdir(files.certificate, 0o700)
        #expect(complaint() == "\(files.certificate) is not a file")
        rmdir(files.certificate)
    }

    @Test("A key file that every user may read is refused at the start; one that only its group may read is accepted")
    func open() {
        chmod(files.key, 0o604)
        #expect(complaint()?.contains("open to everybody") == true)
        chmod(files.key, 0o640)
        #expect(complaint() == nil)
    }

    @Test("An expired certificate, another certificate's key and a file that is not PEM give different errors")
    func wrong() {
        files.write(TLSSamples.expired)
        #expect(complaint()?.contains("has expired") == true)
        files.write(TLSSamples.Pair(certificate: TLSSamples.one.certificate, key: TLSSamples.two.key))
        #expect(complaint()?.contains("does not belong to") == true)
        files.write(TLSSamples.Pair(certificate: "hello", key: TLSSamples.two.key))
        #expect(complaint()?.contains("no certificate in PEM") == true)
        files.write(TLSSamples.Pair(certificate: TLSSamples.one.certificate, key: "hello"))
        #expect(complaint()?.contains("no key in PEM") == true)
    }

    @Test("Without strict checks an expired certificate and a key that others can read are used and reported")
    func weak() throws {
        files.write(TLSSamples.expired)
        chmod(files.key, 0o604)
        let identity = try TLSServerIdentity(certificate: files.certificate, key: files.key, isStrict: false) {
            [notices] in notices.note($0)
        }
        #expect(notices.told.count == 2)
        #expect(notices.told.contains { $0.contains("has expired") })
        #expect(notices.told.contains { $0.contains("open to everybody") })
        // The new certificate and key have no such faults.
        files.write(TLSSamples.two)
        chmod(files.key, 0o600)
        identity.look()
        #expect(notices.told.count == 3 && notices.told.last?.contains("has changed") == true)
        files.write(TLSSamples.Pair(certificate: "hello", key: TLSSamples.two.key))
        #expect(throws: OutputFailure.self) {
            _ = try TLSServerIdentity(certificate: files.certificate, key: files.key, isStrict: false) { _ in }
        }
    }

    @Test("Changed certificate files are read again, and the change is reported once")
    func change() throws {
        let identity = try identity()
        identity.look()
        #expect(notices.told.isEmpty)
        files.write(TLSSamples.two)
        identity.look()
        identity.look()
        #expect(notices.told.count == 1 && notices.told[0].contains("used from now on"))
    }

    @Test("If the new certificate files are invalid, the old ones stay in use, and this is reported")
    func badChange() throws {
        let identity = try identity()
        // While only one of the two files is replaced, no error is reported yet.
        files.write(TLSSamples.two.certificate, to: files.certificate)
        identity.look()
        #expect(notices.told.isEmpty)
        for _ in 0..<3 { identity.look() }
        #expect(notices.told.count == 1 && notices.told[0].contains("the one before stays"))
        files.write(TLSSamples.two.key, to: files.key)
        identity.look()
        #expect(notices.told.count == 2 && notices.told[1].contains("used from now on"))
        #expect(notices.errors == [notices.told[0]], "only the renewal that failed is an error")
    }
}
