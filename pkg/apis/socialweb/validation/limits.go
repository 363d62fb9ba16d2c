package validation

// Bounds of the declaration, in bytes of UTF-8 for strings and in items for
// lists. They are those of the lexicons.
const (
	// MaxDescription bounds spec.description.
	MaxDescription = 4096
	// MaxContracts bounds spec.contracts.
	MaxContracts = 128
	// MaxVMName bounds vmName.
	MaxVMName = 253
	// MaxDIDs bounds bidderDids and denyBidderDids.
	MaxDIDs = 64
	// MaxDID bounds one DID (the atproto specification's own bound).
	MaxDID = 2048
	// MaxSSHKeys bounds sshAuthorizedKeys.
	MaxSSHKeys = 64
	// MaxSSHKey bounds one key: RSA with 16384 bits takes 2800 bytes.
	MaxSSHKey = 8192
	// MaxUserData bounds userData: what the common clouds take.
	MaxUserData = 16384
	// MaxPolicy bounds policy.
	MaxPolicy = 253
	// MaxPolicyArgs bounds policyArgs.
	MaxPolicyArgs = 64
	// MaxPolicyArg bounds one argument.
	MaxPolicyArg = 1024
	// MaxVMReadyTimeoutSec bounds vmReadyTimeoutSec, in seconds: a day.
	MaxVMReadyTimeoutSec = 86400
	// MinTTLSeconds is the least ttlSeconds.
	MinTTLSeconds = 60
	// MaxTTLSeconds bounds ttlSeconds: ten years.
	MaxTTLSeconds = 315360000
)

// Bounds of the status.
const (
	// MaxContractStatuses bounds status.contracts and status.requests. It is more than MaxContracts:
	// a contract that was dropped is listed until it is released.
	MaxContractStatuses = 256
	// MaxUID bounds the uid of a ComputeContract, which another server may have made.
	MaxUID = 128
	// MaxMessage bounds the message of a contract's status.
	MaxMessage = 1024
	// MaxATURI bounds an at-uri (the specification's own bound).
	MaxATURI = 8192
	// MaxConditions bounds the conditions of an object.
	MaxConditions = 32
)

// Bounds of the whole. A PDS refuses a request body over 1,000,000 bytes and etcd
// a request over 1.5 MB that holds the object twice (the view and the intent).
// The two sums leave 300,000 bytes of a record to fields of other clients.
const (
	// MaxDeclarationBytes bounds description and contracts together, in bytes of
	// JSON as they are sent.
	MaxDeclarationBytes = 400_000
	// MaxStatusBytes bounds status.contracts, in bytes of JSON as they are sent.
	MaxStatusBytes = 300_000
)

// Bounds of a ComputeContract.
const (
	// MaxImage bounds image.
	MaxImage = 2048
	// MaxEndpoint bounds status.endpoint.
	MaxEndpoint = 2048
)

// Bounds of a collection.
const (
	// MaxCollectionItems bounds maxItems and status.children.
	MaxCollectionItems = 10000
	// MaxChildrenBytes bounds status.children, in bytes of JSON: etcd takes 1.5 MB.
	MaxChildrenBytes = 1_000_000
)

// MaxURL bounds a URL of an AtprotoRepo.
const MaxURL = 2048
