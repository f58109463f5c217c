// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media
import Synchronization
import TLSSamples
import Testing

@testable import Networking

@Suite("The certificate of a listener")
struct TLSServerIdentityTests {
    private final class Notices: Sendable {
        private let all = Mutex<[String]>([])
        func note(_ text: String) { all.withLock { $0.append(text) } }
        var told: [String] { all.withLock { $0 } }
    }

    private let notices = Notices()
    private let files = TLSSamples.Files(TLSSamples.one)

    private func identity() throws(OutputFailure) -> TLSServerIdentity {
        try TLSServerIdentity(certificate: files.certificate, key: files.key) { [notices] in notices.note($0) }
    }

    /// What is wrong with the files.
    private func complaint() -> String? {
        do throws(OutputFailure) {
            _ = try identity()
            return nil
        } catch {
            return error.kind == .refused ? error.reason : nil
        }
    }

    @Test("A pair that can be used is taken")
    func good() { #expect(complaint() == nil) }

    @Test("A file that is not there, or is no file, is named with the reason")
    func unreadable() {
        unlink(files.key)
        #expect(complaint() == "\(files.key) cannot be read: No such file or directory")
        unlink(files.certificate)
        mkdir(files.certificate, 0o700)
        #expect(complaint() == "\(files.certificate) is not a file")
        rmdir(files.certificate)
    }

    @Test("A key that everybody may read is refused before anything starts, one of a group is not")
    func open() {
        chmod(files.key, 0o604)
        #expect(complaint()?.contains("open to everybody") == true)
        chmod(files.key, 0o640)
        #expect(complaint() == nil)
    }

    @Test("An expired certificate, a key of another one and what is no PEM are told apart")
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

    @Test("Files that change are taken, and told once")
    func change() throws {
        let identity = try identity()
        identity.look()
        #expect(notices.told.isEmpty)
        files.write(TLSSamples.two)
        identity.look()
        identity.look()
        #expect(notices.told.count == 1 && notices.told[0].contains("used from now on"))
    }

    @Test("A new pair that cannot be used leaves the one before, and is told when it stays so")
    func badChange() throws {
        let identity = try identity()
        // The first of two files that are replaced one after the other is no reason to complain.
        files.write(TLSSamples.two.certificate, to: files.certificate)
        identity.look()
        #expect(notices.told.isEmpty)
        for _ in 0..<3 { identity.look() }
        #expect(notices.told.count == 1 && notices.told[0].contains("the one before stays"))
        files.write(TLSSamples.two.key, to: files.key)
        identity.look()
        #expect(notices.told.count == 2 && notices.told[1].contains("used from now on"))
    }
}
