# frozen_string_literal: true

require "test_helper"
require "support/certificates"
require "support/nginx_server"
require_relative "../cli/fetch/support/fetching"

class FetchTest < Minitest::Test
  include Support::Fetching

  NGINX = <<~CONF
    keepalive_requests 3;
    gzip on; gzip_types text/plain; gzip_min_length 10;
    location = /go { return 302 /b.txt; }
  CONF

  # From the twentieth write on there is no room for more than some bytes.
  FULL_DISK = <<~RUBY
    $writes = 0
    class File
      alias whole write
      def write(text)
        return whole(text) unless path.match?(%%r{%s\\z}) && ($writes += 1) > 20
        whole(text[0, 9])
        raise Errno::ENOSPC
      end
    end
  RUBY

  MECHANISMS = %w[sequence threads fibers hybrid processes processes+fibers].freeze

  def test_urls_of_the_command_line
    site = origin { |path, _| [200, { "Content-Type" => "text/plain", "X-A" => "1" }, "it is #{path}"] }
    result = fetch(site.url("/a"), site.url("/b?c#d"))
    assert_equal 0, result.code, result.err
    first, second = records(result.out)
    assert_equal [1, true, site.url("/a"), site.url("/a"), 200, "1.1", 1, 8, "it is /a"],
                 first.values_at(*%w[line ok url final_url status http_version attempts bytes body])
    assert_equal ["1", "text/plain"], first["headers"].values_at("x-a", "content-type")
    assert_operator first["timings"]["total"] || first["timings"].values.sum, :>=, 0
    assert_equal "it is /b?c", second["body"]
    assert_match(/^2 fetched, 0 failed; 18 bytes in /, result.err)
    assert_match(/^latency: p50 [\d.]+ .?s, p90 .*, p99 .*, max /, result.err)
    assert_match(%r{\Aplait/\d}, site.requests.first.headers["user-agent"])
  end

  def test_the_options_of_curl
    site = origin
    result = fetch(site.url("/a"), "-H", "X-A: 1", "-H", "x-b: 2", "--header", "Accept:", *%w[--data a=1 --user-agent me])
    assert_equal 0, result.code, result.err
    headers = site.requests.first.headers
    assert_equal ["1", "2", nil, "me", "3", "application/x-www-form-urlencoded"],
                 headers.values_at("x-a", "x-b", "accept", "user-agent", "content-length", "content-type")
    assert_equal "POST", site.requests.first.verb
  end

  def test_a_method_and_a_body_from_a_file
    site = origin
    write("body", "{}\n")
    assert_equal 0, fetch(site.url("/a"), "--method", "put", "--data", "@body", "-H", "content-type: application/json").code
    request = site.requests.first
    assert_equal ["PUT", "2", "application/json"], [request.verb, *request.headers.values_at("content-length", "content-type")]
  end

  def test_a_proxy
    proxy = origin { |path, _| [200, {}, "proxy of #{path}"] }
    result = fetch("http://example.invalid/x", "--proxy", proxy.url)
    assert_equal "proxy of http://example.invalid/x", records(result.out).first["body"], result.err
  end

  def test_certificates
    authority = Certificates::Authority.new
    write("ca.pem", authority.pair.certificate.to_pem)
    site = origin(tls: authority.issue("IP:127.0.0.1"))
    codes = [[], ["--cacert", "ca.pem"], ["--insecure"]].map { |options| fetch(site.url, "--retries", "0", *options).code }
    assert_equal [1, 0, 0], codes
  end

  # In a log or a pipe.
  def test_progress_where_nothing_can_be_redrawn
    told = %r{^plait: \d of 2 URLs, [\d.]+/s, 0 errors}
    site = origin do |asked, _|
      wait_until(what: "the progress") { File.read(path(".err")).match?(told) } if asked == "/2"
      [200, {}, ""]
    end
    result = plait_running("fetch", site.url("/1"), site.url("/2"), *%w[--limit 1 --retries 0], prelude: <<~RUBY) { nil }
      require "plait/cli"
      require "plait/cli/fetch/summary"
      Plait::CLI::Fetch::Display.send(:remove_const, :FIRST_LINE)
      Plait::CLI::Fetch::Display::FIRST_LINE = 0.2
    RUBY
    assert_match(told, result.err)
  end

  def test_the_lab_is_not_loaded_for_it
    result = fetch("http://127.0.0.1:1/", "--retries", "0", "--json", "summary.json", prelude: <<~RUBY)
      at_exit { warn($LOADED_FEATURES.grep(%r{/plait/lab/|vega|memory_profiler})) }
    RUBY
    assert_equal 1, result.code, result.err
    refute_match(%r{^/}, result.err)
  end

  def test_a_file_and_standard_input
    site = origin
    text = "# first\n\n  #{site.url("/1")} \r\n#{site.url("/2")}"
    write("urls", text)
    [fetch("--from", "urls"), fetch_fed(text), fetch_fed(text, "--from", "-")].each do |result|
      assert_equal 0, result.code, result.err
      found = records(result.out).map { |record| record.values_at("line", "url") }
      assert_equal [[3, site.url("/1")], [4, site.url("/2")]], found
    end
  end

  def test_every_mechanism_gives_the_same
    site = origin { |path, _| [path == "/7" ? 404 : 200, { "Content-Type" => "text/plain" }, "\xFF#{path}" * 100] }
    write_urls(site, 30)
    outputs = MECHANISMS.map do |on|
      result = fetch("--from", "urls", "--on", on, "--limit", "8")
      assert_equal 1, result.code, result.err
      records(result.out).each { |record| record.delete("timings") }
    end
    assert_equal 30, outputs.first.size
    assert_equal [outputs.first], outputs.uniq
  end

  def test_nginx
    nginx = Support::NginxServer.start(server: NGINX)
    bodies = { "a.html" => "<p>#{"\u00e9" * 5000}</p>", "b.txt" => "text " * 4000, "c.bin" => Random.new(1).bytes(200_000),
               "d.txt" => "" }
    bodies.each { |name, body| File.binwrite(File.join(nginx.root, name), body) }
    names = bodies.keys * 10
    result = fetch_fed([*names, "go", "gone"].map { |name| "#{nginx.url}/#{name}\n" }.join)
    assert_equal 1, result.code, result.err
    found = records(result.out)
    assert_equal(names.map { |name| bodies[name].b }, found.first(40).map { |record| body(record) })
    assert_equal ["#{nginx.url}/go", "#{nginx.url}/b.txt", 200], found[40].values_at("url", "final_url", "status")
    assert_equal [404, "status_404"], [found[41]["status"], found[41]["error"]["kind"]]
  ensure
    nginx&.stop
  end

  def test_a_bad_line_is_reported_and_the_run_goes_on
    site = origin
    lines = [site.url("/1"), "nonsense", "ftp://h/", "http://me:secret@h/a b", "http://\xFF/", "x" * 20_000, site.url("/2")]
    result = fetch_fed(lines.join("\n"))
    assert_equal 1, result.code
    found = records(result.out)
    assert_equal([true, false, false, false, false, false, true], found.map { |record| record["ok"] })
    assert_equal ["bad_line"], found[1..5].map { |record| record["error"]["kind"] }.uniq
    messages = result.err.lines.grep(/\Aplait: line/)
    assert_equal((2..6).to_a, messages.map { |message| message[/\d+/].to_i })
    assert_match(/"nonsense" has no scheme/, messages[0])
    assert_match(/not UTF-8/, messages[3])
    assert_match(/longer than/, messages[4])
    assert_match(/^errors: bad_line 5$/, result.err)
    refute_match(/secret/, result.err + result.out)
  end

  def test_passwords_of_malformed_lines_are_written_nowhere
    lines = %w[us:s3cret@h/x http://us:s3/cret@h/ http://us:s3#cret@h/ //us:s3cret@h/ http:/us:s3cret@h/ http://us:s3cret@h:x/]
    result = fetch_fed(lines.join("\n"))
    assert_equal(lines.size, records(result.out).size)
    refute_match(/cret/, result.err + result.out)
  end

  def test_errors_by_kind
    site = origin { |path, _| path == "/slow" ? sleep(30) : { "/500" => [500, {}, "no"] }[path] }
    kinds = kinds_of_errors("http://127.0.0.1:#{CLOSED}/", *%w[/500 /nothing].map { |path| site.url(path) })
    assert_equal %w[connect status_500 connection_closed], kinds
    late = kinds_of_errors(site.url("/slow"), "--timeout", "0.5")
    assert_equal 1, late.size
    assert_match(/timeout/, late.first)
  end

  def test_a_folder
    site = origin { |path, _| [200, { "Content-Type" => "text/html" }, "page #{path}"] }
    result = fetch(site.url("/docs/start"), site.url("/docs/start"), site.url("/../../x"), "--out", "pages")
    assert_equal [0, ""], [result.code, result.err.lines.grep(/plait:/).join]
    found = saved("pages/index.jsonl")
    assert_equal 3, found.map { |record| record["file"] }.uniq.size
    assert_match(%r{\A127\.0\.0\.1_\d+/docs_start-\h{16}\.html\z}, found[0]["file"])
    assert_equal(["page /docs/start"] * 2, found.first(2).map { |record| File.read(path("pages/#{record["file"]}")) })
    refute found[0].key?("body")
    assert_equal 3, Dir[path("pages/127*/*")].size
  end

  def test_the_summary_as_json
    site = origin { |path, _| [path == "/1" ? 404 : 200, {}, "12345"] }
    write_urls(site, 20)
    result = fetch("--from", "urls", "--out", "out.jsonl", "--json")
    assert_equal 1, result.code
    summary = JSON.parse(result.out)
    assert_equal [1, 19, 1, 100, { "200" => 19, "404" => 1 }, { "status_404" => 1 }, false],
                 summary.values_at(*%w[schema ok failed bytes statuses errors interrupted])
    percentiles = summary["latency_seconds"].values_at("p50", "p90", "p99", "max")
    assert_equal percentiles.sort, percentiles
    assert_operator percentiles.first, :>, 0
    assert_empty result.err
  end

  def test_a_bar_on_a_terminal
    site = origin { |_, _| sleep(0.05) && [200, {}, "x"] }
    write_urls(site, 60)
    result = plait_on_terminal("fetch", "--from", "urls", "--out", "out.jsonl")
    assert_equal 0, result.code, result.out
    assert_match(%r{[█░]+ \d+/60  (a few seconds left  )?[\d.]+/s, 0 errors}, result.out)
    assert_match(/60 fetched, 0 failed/, result.out)
    refute_match(/█/, plait_on_terminal("fetch", "--from", "urls", "--out", "quiet.jsonl", "--quiet").out)
  end

  def test_a_reader_that_goes_away
    site = origin
    write_urls(site, 500)
    fetching = command(%w[fetch --from urls --quiet], nil)
    line, err, status = Open3.popen3(ENVIRONMENT, *fetching, chdir: folder) do |_, out, errors, thread|
      first = out.gets
      out.close
      [first, errors.read, thread.value]
    end
    assert_equal [0, ""], [status.exitstatus, err]
    assert JSON.parse(line)["ok"]
  end

  def test_a_full_disk
    site = origin
    write_urls(site, 50)
    { "out.jsonl" => "out.jsonl", "pages" => "pages/.parts/\\d+", "more" => "more/index.jsonl" }.each do |out, full|
      result = fetch("--from", "urls", "--out", out, "--quiet", prelude: format(FULL_DISK, full))
      assert_equal 73, result.code, result.err
      assert_match(/\Aplait: can't write to #{full}: the disk is full; free some space, [^\n]+\n\z/, result.err)
      assert_equal 0, fetch("--from", "urls", "--out", out).code
      assert_equal((1..50).to_a, saved(out.end_with?("l") ? out : "#{out}/index.jsonl").map { |record| record["line"] })
    end
  end

  def test_millions_of_lines_in_little_memory
    hwm = "at_exit { File.write(\"hwm\", File.read(\"/proc/self/status\")[/VmHWM:\\s+(\\d+)/, 1]) }"
    skip "there is no /proc here" unless File.exist?("/proc/self/status")
    # From Ruby 3.3 on a longer run alone takes 4 MB more, whatever it reads. 20 MB of garbage may lie between two collections;
    # the lines themselves would take 100 MB.
    few = RUBY_VERSION < "3.3" ? 1000 : 200_000
    peaks = [few, 1_000_000].map do |count|
      write("urls", "# a line that asks for nothing at all\n" * count)
      assert_equal 0, fetch("--from", "urls", "--out", "#{count}.jsonl", prelude: hwm).code
      File.read(path("hwm")).to_i
    end
    assert_operator peaks.last - peaks.first, :<, 40_000
  end

  private

  # @return [Array<String>] in the order of the URLs
  def kinds_of_errors(*arguments)
    result = fetch(*arguments, *%w[--retries 0 --json sum.json])
    assert_equal 1, result.code
    kinds = records(result.out).map { |record| record["error"]["kind"] }
    assert_equal kinds.sort, JSON.parse(File.read(path("sum.json")))["errors"].keys.sort
    kinds
  end

  def body(record) = record["body"]&.b || record["body_base64"].unpack1("m0")
end
