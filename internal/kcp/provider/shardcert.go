package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"

	"socialweb.computer/infra-apiserver/internal/kcp/door"
)

// checkShardCertificate calls our door as a shard does at a discovery, where it has the
// certificate of one. Where it hasn't, it says so: nothing else shows that shards come in.
func (o *Options) checkShardCertificate(ctx context.Context, r *Report) error {
	if o.ShardCertificate == nil {
		r.unknown(Finding{
			fmt.Sprintf("whether shards are let in at %s wasn't tried: there is no certificate of a shard", strings.Join(o.URLs, ", ")),
			"run this command once more with --dry-run --shard-client-cert-file=FILE --shard-client-key-file=FILE, which are what a shard's own flags of these names say",
		})
		return nil
	}
	client, err := o.caller(o.ShardCertificate)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, u := range o.URLs {
		a, err := ask(ctx, client, u+"/clusters/%2A"+groupPath)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.unknown(Finding{
				fmt.Sprintf("whether %s lets shards in isn't known: %v", u, err),
				"look from where the shards are",
			})
		default:
			if f := o.shardFault(u, a); f != nil {
				r.fault(*f)
			}
		}
	}
	return nil
}

// shardFault says what is wrong with an answer to a shard; nil: nothing.
func (o *Options) shardFault(base string, a *told) *Finding {
	name, issuer := subject(o.ShardCertificate)
	names := fmt.Sprintf("--kcp-shard-allowed-names that %q fits", name)
	authority := fmt.Sprintf("a --kcp-shard-client-ca-file that has the authority %q", issuer)
	switch door.Cause(a.failure) {
	case door.CauseElsewhere:
		return &Finding{
			fmt.Sprintf("this server knows the shard %q, and its door isn't at %s", name, base),
			"serve with " + flagPrefix(base) + ", or give --url with the prefix that it has; what is in front of this server must leave the path as it is",
		}
	case door.CauseName:
		return &Finding{fmt.Sprintf("%s doesn't let the name %q in", base, name), "serve with " + names}
	case door.CauseShardsOnly:
		return &Finding{
			fmt.Sprintf("%s doesn't take the certificate of %q for one of a shard", base, name),
			"serve with " + authority + ", and " + names + "; what is in front of this server must pass TLS through, or show such a certificate itself",
		}
	}
	switch {
	case a.code == http.StatusUnauthorized || a.code == http.StatusForbidden:
		return &Finding{
			fmt.Sprintf("%s refuses the shard %q: %s", base, name, a.status),
			"serve with " + authority + ", " + names + ", and " + flagPrefix(base) + "; " +
				"what is in front of this server must pass TLS through, or show such a certificate itself",
		}
	case a.code != http.StatusOK:
		return &Finding{
			fmt.Sprintf("%s answers a shard's discovery with %s", base, a.status),
			"have the router send it to this server, with the path as it is; the log of the server says more",
		}
	case !a.kinds:
		return &Finding{
			base + " answers a shard's discovery with something that isn't ours",
			"have the router send it to this server, with the path as it is",
		}
	}
	return nil
}

// subject of a certificate, and who signed it.
func subject(c *tls.Certificate) (name, issuer string) {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return "", ""
	}
	return leaf.Subject.CommonName, leaf.Issuer.CommonName
}
