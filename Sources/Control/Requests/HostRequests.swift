// SPDX-License-Identifier: Apache-2.0

/// An output's address that is to be tried.
struct NewCheck: Decodable { let address: String }

/// A token with which a session begins.
struct NewSession: Decodable { let token: String }
