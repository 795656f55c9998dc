package edge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// serving starts a proxy for a view and returns where it listens.
func serving(t *testing.T, v view) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := newProxy()
	p.route(decide(v, here).table)
	go func() { _ = p.serve(listener) }()
	return listener.Addr().String()
}

// pod answers with its name and what it was asked, in the version of HTTP that it understands.
func pod(t *testing.T, name string, http2 bool) (address string, port int32) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		fmt.Fprintf(w, "%s %s %s%s", name, r.Proto, r.Host, r.URL.Path)
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("Grpc-Status", "0")
	}))
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(!http2)
	server.Config.Protocols.SetUnencryptedHTTP2(http2)
	server.Start()
	t.Cleanup(server.Close)
	return addressOf(t, server)
}

func addressOf(t *testing.T, server *httptest.Server) (address string, port int32) {
	t.Helper()
	host, number, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return host, int32(parsed)
}

func get(t *testing.T, at, host, path string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+at+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestRequestsReachThePodByHostAndPath(t *testing.T) {
	address, port := pod(t, "web", false)
	v := baseView()
	v.httpRoutes = []*gatewayv1.HTTPRoute{newRoute("a.example", "web")}
	v.ingresses = append(v.ingresses, newIngress("b.example", "web"))
	v.slices = []*discoveryv1.EndpointSlice{endpoints("web", port, true, address)}
	at := serving(t, v)
	for _, host := range []string{"a.example", "b.example"} {
		if status, body := get(t, at, host, "/path"); status != http.StatusOK || body != "web HTTP/1.1 "+host+"/path" {
			t.Errorf("%d, %q", status, body)
		}
	}
	if status, _ := get(t, at, "c.example", "/"); status != http.StatusNotFound {
		t.Errorf("a host without a route answers %d", status)
	}
}

func TestWithoutAReadyPodTheGatewaySaysSo(t *testing.T) {
	address, port := pod(t, "web", false)
	v := baseView()
	v.httpRoutes = []*gatewayv1.HTTPRoute{newRoute("unready.example", "web"), newRoute("missing.example", "missing")}
	v.slices = []*discoveryv1.EndpointSlice{endpoints("web", port, false, address)}
	at := serving(t, v)
	for host, want := range map[string]int{
		"unready.example": http.StatusServiceUnavailable, "missing.example": http.StatusInternalServerError,
	} {
		if status, _ := get(t, at, host, "/"); status != want {
			t.Errorf("%s answers %d, wanted %d", host, status, want)
		}
	}
}

func TestABackendWithoutWeightGetsNothing(t *testing.T) {
	address, port := pod(t, "web", false)
	v, r := baseView(), newRoute("a.example", "web")
	none := reference("missing", 80)
	none.Weight = pointer[int32](0)
	r.Spec.Rules[0].BackendRefs = append([]gatewayv1.HTTPBackendRef{{BackendRef: none}}, r.Spec.Rules[0].BackendRefs...)
	v.httpRoutes = []*gatewayv1.HTTPRoute{r}
	v.slices = []*discoveryv1.EndpointSlice{endpoints("web", port, true, address)}
	at := serving(t, v)
	for range 20 {
		if status, _ := get(t, at, "a.example", "/"); status != http.StatusOK {
			t.Fatalf("it answers %d", status)
		}
	}
}

func TestAnUpgradePassesBothWays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		connection, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.CopyN(connection, buffered, 4)
	}))
	defer server.Close()
	address, port := addressOf(t, server)
	v := baseView()
	v.httpRoutes = []*gatewayv1.HTTPRoute{newRoute("a.example", "web")}
	v.slices = []*discoveryv1.EndpointSlice{endpoints("web", port, true, address)}
	request, err := http.NewRequest(http.MethodGet, "http://"+serving(t, v)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "a.example"
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "websocket")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("it answers %s", response.Status)
	}
	if _, err := io.WriteString(response.Body.(io.Writer), "ping"); err != nil {
		t.Fatal(err)
	}
	if echo, err := io.ReadAll(response.Body); err != nil || string(echo) != "ping" {
		t.Errorf("the answer is %q, %v", echo, err)
	}
}

func TestACallOfGRPCPassesWithItsTrailers(t *testing.T) {
	address, port := pod(t, "grpc", true)
	v := baseView()
	v.grpcRoutes = []*gatewayv1.GRPCRoute{newGRPCRoute("a.example", "web")}
	v.slices = []*discoveryv1.EndpointSlice{endpoints("web", port, true, address)}
	at := serving(t, v)
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+at+"/pkg.Service/Call", bytes.NewReader([]byte(" body")))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "a.example"
	request.Header.Set("TE", "trailers")
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := "grpc HTTP/2.0 a.example/pkg.Service/Call body"; string(body) != want || response.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("%q, trailers %v", body, response.Trailer)
	}
}
