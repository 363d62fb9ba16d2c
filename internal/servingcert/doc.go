// Package servingcert keeps the serving certificate of all replicas in one Secret
// and renews it there, together with the authority that signed it.
//
// Whoever finds something due does it: replicas race by the Secret's
// resourceVersion, the losers read what the winner wrote. Three rules hold at every
// moment, also where a replica is late, cut off or stopped in between:
//
//   - a leaf is served only after the authority that signed it was put into the
//     APIService's caBundle, unless there is no other leaf that could be served;
//   - a new authority is trusted for a while before it signs a leaf that replaces a
//     good one, so that every kube-apiserver knows it;
//   - an authority stays trusted until it expires, and its leaves expire with it: no
//     leaf that is still served somewhere loses its trust.
package servingcert
