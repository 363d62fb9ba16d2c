package apiserver

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"

	"socialweb.computer/infra-apiserver/pkg/registry/execution"
)

// KCPOptions say how the server stands behind kcp, whose shards send the requests of
// their workspaces.
type KCPOptions struct {
	// ShardClientCAFile holds the authorities of the shards' client certificates, and
	// opens the door for shards. It is read again when it changes. "": shut.
	ShardClientCAFile string
	// ShardAllowedNames are patterns (as of path.Match) of the common names of shards.
	ShardAllowedNames []string
	// PathPrefix comes before /clusters/<workspace>/… in the URL that kcp is given; "":
	// nothing.
	PathPrefix string
	// ExecuteDIDs are the accounts whose records may be executed on the word of a
	// workspace: of any as "did:…", of one as "<workspace>/did:…".
	ExecuteDIDs []string
}

// NewKCPOptions returns the defaults: the door is shut.
func NewKCPOptions() *KCPOptions {
	return &KCPOptions{ShardAllowedNames: []string{"system:kcp:shard:*"}, PathPrefix: "/services/infra"}
}

// The names of the flags, which messages tell too.
const (
	flagShardCA      = "--kcp-shard-client-ca-file"
	flagShardNames   = "--kcp-shard-allowed-names"
	flagKCPPrefix    = "--kcp-path-prefix"
	flagKCPExecution = execution.PolicyFlag
)

// AddFlags binds the options to flags.
func (o *KCPOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ShardClientCAFile, flagShardCA[2:], o.ShardClientCAFile,
		"File with the authorities of the client certificates of kcp's shards. Opens /clusters/<workspace>/… for them, and for them alone below "+flagKCPPrefix+". It is read again when it changes.")
	fs.StringSliceVar(&o.ShardAllowedNames, flagShardNames[2:], o.ShardAllowedNames,
		"Common names of the shards' certificates, as patterns in which * stands for any text. kcp prescribes none.")
	fs.StringVar(&o.PathPrefix, flagKCPPrefix[2:], o.PathPrefix,
		"What comes before /clusters/<workspace>/… in the URL that kcp is given. Empty: nothing.")
	fs.StringSliceVar(&o.ExecuteDIDs, flagKCPExecution[2:], o.ExecuteDIDs,
		"Accounts whose records may be executed on the word of a workspace: of any workspace as DID, of one as WORKSPACE/DID. Users of workspaces aren't known here, so nobody there has the verb execute.")
}

// Validate tells everything that is wrong with the options, on this machine.
func (o *KCPOptions) Validate() []error {
	if o == nil {
		return nil
	}
	var errs []error
	if f := o.ShardClientCAFile; f != "" {
		if _, err := cert.CertsFromFile(f); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w: name a file with certificates in PEM, or leave the flag out", flagShardCA, f, cause(err)))
		}
		if len(o.ShardAllowedNames) == 0 {
			errs = append(errs, fmt.Errorf("%s is empty: give at least one pattern, like system:kcp:shard:*", flagShardNames))
		}
	}
	for _, p := range o.ShardAllowedNames {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			errs = append(errs, fmt.Errorf("%s %q: is no pattern of a common name: write it like system:kcp:shard:*", flagShardNames, p))
		}
	}
	if err := checkPathPrefix(o.PathPrefix); err != nil {
		errs = append(errs, err)
	}
	if _, err := newExecutePolicy(o.ExecuteDIDs); err != nil {
		errs = append(errs, err)
	}
	return errs
}

var pathPrefix = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$`)

// ownPaths are first segments that mean something else.
var ownPaths = []string{"api", "apis", "clusters", "debug", "flagz", "healthz", "livez", "logs", "metrics", "openapi", "readyz", "statusz", "version"}

func checkPathPrefix(p string) error {
	if p == "" {
		return nil
	}
	if !pathPrefix.MatchString(p) {
		return fmt.Errorf("%s %q: is no path: write it like /services/infra, without a slash at its end, or leave it empty", flagKCPPrefix, p)
	}
	if first := strings.Split(p, "/")[1]; slices.Contains(ownPaths, first) {
		return fmt.Errorf("%s %q: /%s is a path of the server itself: write it like /services/infra", flagKCPPrefix, p, first)
	}
	return nil
}

// door makes the door for shards; nil: it is shut. The server then asks every client
// for a certificate, and reads the file again while it serves.
func (o *KCPOptions) door(c *genericapiserver.RecommendedConfig) (*kcpDoor, error) {
	if o.ShardClientCAFile == "" {
		return nil, nil
	}
	if c.Authentication.Authenticator == nil {
		return nil, fmt.Errorf("%s: the server authenticates nobody", flagShardCA)
	}
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("kcp-shard-client-ca", o.ShardClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", flagShardCA, o.ShardClientCAFile, err)
	}
	if err := c.Authentication.ApplyClientCert(ca, c.SecureServing); err != nil {
		return nil, fmt.Errorf("%s %q: %w", flagShardCA, o.ShardClientCAFile, err)
	}
	return &kcpDoor{prefix: o.PathPrefix + clustersPrefix, names: o.ShardAllowedNames, authorities: ca.VerifyOptions}, nil
}

// doorAndPolicy are what the options make.
func (o *KCPOptions) doorAndPolicy(c *genericapiserver.RecommendedConfig) (*kcpDoor, executePolicy, error) {
	if o == nil {
		return nil, nil, nil
	}
	policy, err := newExecutePolicy(o.ExecuteDIDs)
	if err != nil {
		return nil, nil, err
	}
	door, err := o.door(c)
	return door, policy, err
}
