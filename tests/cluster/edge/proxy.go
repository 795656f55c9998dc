package edge

import (
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"
)

// A proxy passes requests to the pods that the table of the moment names. Connections come and go
// over HTTP/1.1 or, as gRPC needs it, over HTTP/2 without TLS; an upgrade to WebSocket passes too.
type proxy struct {
	routes       atomic.Pointer[table]
	http1, http2 *http.Transport
}

func newProxy() *proxy {
	p := &proxy{http1: newTransport(), http2: newTransport()}
	p.http2.Protocols = &http.Protocols{}
	p.http2.Protocols.SetUnencryptedHTTP2(true)
	p.routes.Store(&table{})
	return p
}

// newTransport keeps no connection: the next pod may have the address of the one before.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:       (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		DisableKeepAlives: true,
	}
}

// route replaces where requests go; those on their way are not disturbed.
func (p *proxy) route(t table) { p.routes.Store(&t) }

func (p *proxy) serve(listener net.Listener) error {
	server := &http.Server{Handler: p, Protocols: &http.Protocols{}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server.Serve(listener)
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found := p.routes.Load().find(r.Host, r.URL.Path)
	if found == nil {
		http.Error(w, "no route leads from this host and path", http.StatusNotFound)
		return
	}
	address, http2, failure := found.choose()
	if failure != 0 {
		http.Error(w, http.StatusText(failure), failure)
		return
	}
	transport := p.http1
	if http2 {
		transport = p.http2
	}
	(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(pass *httputil.ProxyRequest) {
			pass.Out.URL.Scheme, pass.Out.URL.Host = "http", address
			// The pods see the name that was asked for.
			pass.Out.Host = pass.In.Host
			pass.SetXForwarded()
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			log.Printf("%s %s%s by way of %s: %v", r.Method, r.Host, r.URL.Path, address, err)
			http.Error(w, "the pod does not answer", http.StatusBadGateway)
		},
	}).ServeHTTP(w, r)
}
