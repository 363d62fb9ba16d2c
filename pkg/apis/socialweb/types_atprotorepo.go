package socialweb

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RepoAccess says what may be done with a repository.
type RepoAccess string

const (
	// AccessNone withdraws the access: nothing is read or written.
	AccessNone RepoAccess = "None"
	// AccessRead reads the repository and never writes to it.
	AccessRead RepoAccess = "Read"
	// AccessReadWrite reads and writes the repository. It needs credentials, and a
	// PDS that honours swapRecord.
	AccessReadWrite RepoAccess = "ReadWrite"
)

// EventSourceType says where changes of a repository are learnt from.
type EventSourceType string

const (
	// EventSourceFirehose subscribes to the PDS (com.atproto.sync.subscribeRepos).
	EventSourceFirehose EventSourceType = "Firehose"
	// EventSourceJetstream subscribes to a Jetstream server.
	EventSourceJetstream EventSourceType = "Jetstream"
	// EventSourcePoll asks the PDS for its latest commit in turns.
	EventSourcePoll EventSourceType = "Poll"
)

// StaleReadsPolicy says what a consistent read answers while the PDS can't be
// reached.
type StaleReadsPolicy string

const (
	// StaleReadsDeny answers 503 Service Unavailable.
	StaleReadsDeny StaleReadsPolicy = "Deny"
	// StaleReadsAllow answers what was known last, with a Warning header.
	StaleReadsAllow StaleReadsPolicy = "Allow"
)

// ExecutionPolicy says whether the contracts of a repository's records run.
type ExecutionPolicy string

const (
	// ExecutionFollow runs the contracts that the records request.
	ExecutionFollow ExecutionPolicy = "Follow"
	// ExecutionObserveOnly shows the records and runs nothing.
	ExecutionObserveOnly ExecutionPolicy = "ObserveOnly"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AtprotoRepo is the repository of one atproto account: where it is, which
// credentials open it and what may be done with it.
type AtprotoRepo struct {
	metav1.TypeMeta
	// Standard object's metadata.
	metav1.ObjectMeta
	// spec is what is wanted of the repository.
	Spec AtprotoRepoSpec
	// status is what was observed of the repository.
	Status AtprotoRepoStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AtprotoRepoList is a list of AtprotoRepos.
type AtprotoRepoList struct {
	metav1.TypeMeta
	// Standard list's metadata.
	metav1.ListMeta
	// items of the list.
	Items []AtprotoRepo
}

// AtprotoRepoSpec is what is wanted of a repository. One of did and handle is
// required.
type AtprotoRepoSpec struct {
	// did of the account, a did:plc or did:web, for example
	// did:plc:ewvi7nxzyoun6zhxrhs64oiz. It can't change once it is set.
	DID string
	// handle of the account, for example alice.example.com: resolved once, to
	// status.did. It can't change while did is empty. Beside a did it is not looked
	// up.
	Handle string
	// pds is the base URL of the account's PDS. Empty: the one that the account's
	// DID document names.
	PDS string
	// credentialsRef names the credentials of the account in the server's
	// credential provider. Without it the repository can be read only.
	CredentialsRef *CredentialsReference
	// access to the repository: ReadWrite (the default), Read or None. status.access
	// says what is granted in effect.
	Access RepoAccess
	// default makes this the repository of objects that name none. At most one
	// AtprotoRepo of a workspace can be the default.
	Default bool
	// eventSource says where changes are learnt from: Firehose (the default),
	// Jetstream or Poll.
	EventSource EventSourceType
	// jetstreamURL is the address of the Jetstream server, a wss or ws URL, for the
	// event source Jetstream only. Empty: the server's own setting.
	JetstreamURL string
	// staleReads says what a consistent read answers while the PDS can't be
	// reached: Deny (the default) answers 503, Allow answers what was known last,
	// with a warning.
	StaleReads StaleReadsPolicy
	// execution says whether the contracts of the repository's records run: Follow
	// or ObserveOnly. Absent: Follow with access ReadWrite, else ObserveOnly.
	Execution ExecutionPolicy
}

// CredentialsReference names credentials in the server's credential provider. It
// is read within the workspace of the object that holds it.
type CredentialsReference struct {
	// name of the credentials.
	Name string
}

// AtprotoRepoStatus is what was observed of a repository.
type AtprotoRepoStatus struct {
	// observedGeneration is the metadata.generation that was acted on last.
	ObservedGeneration int64
	// did of the account.
	DID string
	// handle of the account, as its DID document names it.
	Handle string
	// pds is the base URL of the PDS in use.
	PDS string
	// rev is the latest revision of the repository that was seen.
	Rev string
	// ingestedRev is the revision up to which the repository's records are served.
	IngestedRev string
	// lagSeconds is how far ingestedRev is behind rev, in seconds. Absent: unknown.
	LagSeconds *int64
	// access that is granted in effect: less than spec.access where credentials are
	// missing or the PDS ignores swapRecord.
	Access RepoAccess
	// executeGranted says that somebody who has the verb execute asked for
	// spec.execution Follow. Only the server writes it.
	ExecuteGranted bool
	// conditions of the repository: Ready, Reachable, Authorized, Streaming and
	// SwapSupported among others.
	Conditions []metav1.Condition
}
