// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Networking

extension OutboundBuffer {
    /// The bytes that a socket would receive.
    var bytes: [UInt8] {
        withVectors(limit: .max) { vectors in
            vectors.flatMap { Array(UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len)) }
        }
    }
}
