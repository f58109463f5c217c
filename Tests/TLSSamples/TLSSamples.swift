// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Self-signed certificates for 127.0.0.1 and localhost, and their keys. They are only for tests.
package enum TLSSamples {
    /// A pair that is valid until 2120.
    package static let one = Pair(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBcTCCARegAwIBAgIBAjAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5yZWxheSB0
            ZXN0IG9uZTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGTEXMBUG
            A1UEAwwOcmVsYXkgdGVzdCBvbmUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARV
            vpjRiqZ6Ko9xW2r2/Axbz9b5CiWeicJdNZWiMkLQjY1Mnr4F+6YgeQvi80+Ce+/+
            6+CcAQmgMtdCs+NJTCroo04wTDAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3Qw
            DwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUlVmGz0qPcuzDXTvcRDiFYxF6lJEw
            CgYIKoZIzj0EAwIDSAAwRQIhAOfVnCAnH/5zDd3UDHbULwzTnRwUyqc+R5jHh+gG
            CzvcAiAmDXh7klSEQAngbx0DYxnRutcTm/7t2b+ydBmV9hYFGw==
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAr/Hc2YCFEnqO5Cx
            CspFTo2msXBbQj82Bntj9Ipp8eWhRANCAARVvpjRiqZ6Ko9xW2r2/Axbz9b5CiWe
            icJdNZWiMkLQjY1Mnr4F+6YgeQvi80+Ce+/+6+CcAQmgMtdCs+NJTCro
            -----END PRIVATE KEY-----
            """)

    /// Another.
    package static let two = Pair(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBcTCCARegAwIBAgIBAzAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5yZWxheSB0
            ZXN0IHR3bzAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowGTEXMBUG
            A1UEAwwOcmVsYXkgdGVzdCB0d28wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATb
            sKbjYHQjkAQayotV6yAEuewGjwxPQgDEiy8Ctt3bA/W8ws3UpEk4EL1kJmyT7J5T
            Iv2VMxz8Hy8dMTjH3LPfo04wTDAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3Qw
            DwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUq+LMI9Gjeu7prE8a2TXx1/b+El4w
            CgYIKoZIzj0EAwIDSAAwRQIgE7P94OtSk6mJMzM/Jo2uRvRv28grp7pqyhz1+rX/
            DakCIQCF3Q4co0BdX40Yy//0hwEEPrIL22Y68HJ5XDsakkbLXQ==
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkUgEnPXRmESbPmvv
            0SX6OaKGWBaeQFFft3aTTqsP7aehRANCAATbsKbjYHQjkAQayotV6yAEuewGjwxP
            QgDEiy8Ctt3bA/W8ws3UpEk4EL1kJmyT7J5TIv2VMxz8Hy8dMTjH3LPf
            -----END PRIVATE KEY-----
            """)

    /// A pair that expired in 2020.
    package static let expired = Pair(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBGTCBwAIBATAKBggqhkjOPQQDAjAZMRcwFQYDVQQDDA5yZWxheSB0ZXN0IG9s
            ZDAeFw0yMDAxMDEwMDAwMDBaFw0yMDAyMDEwMDAwMDBaMBkxFzAVBgNVBAMMDnJl
            bGF5IHRlc3Qgb2xkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEGxYy6EOiy7+N
            dV7c5uxxDOXgai8odYyhLBzqw9qq/5/VU03kAwD1fcTZ4TjRD9T1rX5so87PTEZH
            lvGuIjx9BDAKBggqhkjOPQQDAgNIADBFAiAsAbPrNhkCh+FsGs0ahJU1zSt1qiS6
            IDouqmVSN1/CtQIhAIIXCmhb2ruhk9ysn8zpBAilOyBwZ5vubCgDROM5ve0q
            -----END CERTIFICATE-----
            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgUSB8Tp12XuI1z25z
            4Ax8W8Jf87/kcEEwjCLLHG55MrahRANCAAQbFjLoQ6LLv411Xtzm7HEM5eBqLyh1
            jKEsHOrD2qr/n9VTTeQDAPV9xNnhONEP1PWtfmyjzs9MRkeW8a4iPH0E
            -----END PRIVATE KEY-----
            """)

    /// A certificate and its key, in PEM.
    package struct Pair: Sendable {
        package let certificate: String
        package let key: String

        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// Two files in a directory of their own, which is removed with the object.
    package final class Files: Sendable {
        private let directory: String
        package var certificate: String { "\(directory)/certificate.pem" }
        package var key: String { "\(directory)/key.pem" }

        package init(_ pair: Pair) {
            var template = Array("/tmp/relay-tls-XXXXXX".utf8CString)
            directory = mkdtemp(&template).map { String(cString: $0) } ?? "/nonexistent"
            write(pair)
        }

        deinit {
            unlink(certificate)
            unlink(key)
            rmdir(directory)
        }

        /// Replaces the two files by another pair.
        package func write(_ pair: Pair) {
            write(pair.certificate, to: certificate)
            write(pair.key, to: key)
        }

        /// Writes a file that no other user may read, in one step.
        package func write(_ text: String, to path: String) {
            let (bytes, other) = (Array("\(text)\n".utf8), "\(path).new")
            let descriptor = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            _ = Glibc.write(descriptor, bytes, bytes.count)
            close(descriptor)
            rename(other, path)
        }
    }
}
