// SPDX-License-Identifier: Apache-2.0

internal import Network

typealias OutputFailure = EndpointFailure
