// Package manifests holds the objects of a deployment as typed values: the one
// truth from which the kustomization and the Helm chart are written.
//
// Objects lists them. Conditions say which of them, and which items of their
// lists, a variant of the deployment has. Values say what a user of the chart may
// set; their defaults are what the typed objects hold.
package manifests
