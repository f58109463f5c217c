// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

// Reads the text of a file that contains a configuration, a run-down or a project.
extension ConfigurationNode {
    private static let mostBytes = 1 << 20

    /// Returns the text of the file at `path`, which may have at most 1 MiB. Blocks on the disk.
    package static func text(at path: String) throws(ConfigurationFailure) -> String {
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            data = try handle.read(upToCount: mostBytes + 1) ?? Data()
        } catch {
            throw failure(path, "The file cannot be read: \(reason(error)).")
        }
        guard data.count <= mostBytes else { throw failure(path, "The file is larger than 1 MiB.") }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw failure(path, "The file is no text in UTF-8.")
        }
        return text
    }

    private static func failure(_ path: String, _ text: String) -> ConfigurationFailure {
        ConfigurationFailure(path: path, faults: [.init(mark: nil, key: "", text: text)])
    }

    private static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        guard let underlying, underlying.domain == NSPOSIXErrorDomain else { return "\(error.localizedDescription)" }
        return String(cString: strerror(CInt(underlying.code)))
    }
}
