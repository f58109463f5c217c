// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A certificate authority of the test, and the certificates that it issues. The openssl program makes them.
struct Authority {
    /// A certificate and its key, as paths of files.
    struct Certificate {
        let certificate: String
        let key: String
    }

    private let directory: TemporaryDirectory
    private let root: Certificate

    /// The path of the authority's own certificate, for clients that trust the authority.
    var path: String { root.certificate }

    init() async throws {
        directory = try TemporaryDirectory()
        root = Certificate(certificate: directory.file("ca.pem"), key: directory.file("ca.key"))
        try await run(
            "openssl",
            ["req", "-x509", "-subj", "/CN=relay test", "-days", "2", "-addext", "basicConstraints=critical,CA:TRUE"]
                + Self.newKey(root.key) + ["-out", root.certificate])
    }

    private static func newKey(_ path: String) -> [String] {
        ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path]
    }

    /// Issues a certificate for `names`, such as `DNS:localhost`, that is valid from now for `days`.
    func issue(_ names: String, days: Int = 2) async throws -> Certificate {
        let name = "leaf\(fileNames(in: directory.path).count)"
        let (request, extensions) = (directory.file("\(name).csr"), directory.file("\(name).ext"))
        let leaf = Certificate(certificate: directory.file("\(name).pem"), key: directory.file("\(name).key"))
        try await run("openssl", ["req", "-subj", "/CN=relay test leaf"] + Self.newKey(leaf.key) + ["-out", request])
        try "subjectAltName=\(names)\n".write(toFile: extensions, atomically: true, encoding: .utf8)
        try await run(
            "openssl",
            ["x509", "-req", "-in", request, "-CA", root.certificate, "-CAkey", root.key, "-CAcreateserial"]
                + ["-days", "\(days)", "-extfile", extensions, "-out", leaf.certificate])
        return leaf
    }
}
