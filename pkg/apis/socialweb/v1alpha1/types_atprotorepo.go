package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RepoAccess says what may be done with a repository.
// +enum
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
// +enum
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
// +enum
type StaleReadsPolicy string

const (
	// StaleReadsDeny answers 503 Service Unavailable.
	StaleReadsDeny StaleReadsPolicy = "Deny"
	// StaleReadsAllow answers what was known last, with a Warning header.
	StaleReadsAllow StaleReadsPolicy = "Allow"
)

// ExecutionPolicy says whether the contracts of a repository's records run.
// +enum
type ExecutionPolicy string

const (
	// ExecutionFollow runs the contracts that the records request.
	ExecutionFollow ExecutionPolicy = "Follow"
	// ExecutionObserveOnly shows the records and runs nothing.
	ExecutionObserveOnly ExecutionPolicy = "ObserveOnly"
)

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AtprotoRepo is the repository of one atproto account: where it is, which
// credentials open it and what may be done with it.
type AtprotoRepo struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is wanted of the repository.
	// +optional
	Spec AtprotoRepoSpec `json:"spec,omitempty"`
	// status is what was observed of the repository.
	// +optional
	Status AtprotoRepoStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AtprotoRepoList is a list of AtprotoRepos.
type AtprotoRepoList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []AtprotoRepo `json:"items"`
}

// AtprotoRepoSpec is what is wanted of a repository. One of did and handle is
// required.
type AtprotoRepoSpec struct {
	// did of the account, a did:plc or did:web, for example
	// did:plc:ewvi7nxzyoun6zhxrhs64oiz. It can't change once it is set.
	// +optional
	DID string `json:"did,omitempty"`
	// handle of the account, for example alice.example.com: resolved once, to
	// status.did. It can't change while did is empty. Beside a did it is not looked
	// up.
	// +optional
	Handle string `json:"handle,omitempty"`
	// pds is the base URL of the account's PDS. Empty: the one that the account's
	// DID document names.
	// +optional
	PDS string `json:"pds,omitempty"`
	// credentialsRef names the credentials of the account in the server's
	// credential provider. Without it the repository can be read only.
	// +optional
	CredentialsRef *CredentialsReference `json:"credentialsRef,omitempty"`
	// access to the repository: ReadWrite (the default), Read or None. status.access
	// says what is granted in effect.
	// +optional
	// +default="ReadWrite"
	Access RepoAccess `json:"access,omitempty"`
	// default makes this the repository of objects that name none. At most one
	// AtprotoRepo of a workspace can be the default.
	// +optional
	Default bool `json:"default,omitempty"`
	// eventSource says where changes are learnt from: Firehose (the default),
	// Jetstream or Poll.
	// +optional
	// +default="Firehose"
	EventSource EventSourceType `json:"eventSource,omitempty"`
	// jetstreamURL is the address of the Jetstream server, a wss or ws URL without a
	// path, for the event source Jetstream only. Empty: the server's own, if it has
	// one.
	// +optional
	JetstreamURL string `json:"jetstreamURL,omitempty"`
	// staleReads says what a consistent read answers while the PDS can't be
	// reached: Deny (the default) answers 503, Allow answers what was known last,
	// with a warning.
	// +optional
	// +default="Deny"
	StaleReads StaleReadsPolicy `json:"staleReads,omitempty"`
	// execution says whether the contracts of the repository's records run: Follow
	// or ObserveOnly. Absent: Follow with access ReadWrite, else ObserveOnly.
	// +optional
	Execution ExecutionPolicy `json:"execution,omitempty"`
}

// CredentialsReference names credentials in the server's credential provider. It
// is read within the workspace of the object that holds it.
type CredentialsReference struct {
	// name of the credentials.
	// +required
	Name string `json:"name"`
}

// AtprotoRepoStatus is what was observed of a repository.
type AtprotoRepoStatus struct {
	// observedGeneration is the metadata.generation that was acted on last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// did of the account.
	// +optional
	DID string `json:"did,omitempty"`
	// handle of the account, as its DID document names it.
	// +optional
	Handle string `json:"handle,omitempty"`
	// pds is the base URL of the PDS in use.
	// +optional
	PDS string `json:"pds,omitempty"`
	// rev is the latest revision of the repository that was seen.
	// +optional
	Rev string `json:"rev,omitempty"`
	// ingestedRev is the revision up to which the repository's records are served.
	// +optional
	IngestedRev string `json:"ingestedRev,omitempty"`
	// lagSeconds is how far ingestedRev is behind rev, in seconds. Absent: unknown.
	// +optional
	LagSeconds *int64 `json:"lagSeconds,omitempty"`
	// access that is granted in effect: less than spec.access where credentials are
	// missing or the PDS ignores swapRecord.
	// +optional
	Access RepoAccess `json:"access,omitempty"`
	// executeGranted says that somebody who has the verb execute asked for
	// spec.execution Follow. Only the server writes it.
	// +optional
	ExecuteGranted bool `json:"executeGranted,omitempty"`
	// conditions of the repository: Ready, Reachable, Authorized, Streaming and
	// SwapSupported among others.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}
