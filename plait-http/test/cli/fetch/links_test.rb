# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/links"
require "plait/cli/fetch/result"

class FetchLinksTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  URL = "http://h/d/page?q"

  def test_every_way_to_write_a_link
    html = <<~HTML
      <a href="a">1</a><A HREF='b'>2</A><a href=c>3</a><a class="x" href = "d" >4</a><area href=e/>
      <a\nhref="f"><a/href="g"><a title="<a href='no'>" href="h"><a href="a">again</a>
      <a href="?x&amp;y&#61;1&#x26;z">i</a><a href=" j k ">j</a><a href="http://other/">o</a><a href="//third/x#f">t</a>
    HTML
    assert_equal %w[http://h/d/a http://h/d/b http://h/d/c http://h/d/d http://h/d/e/ http://h/d/f http://h/d/g http://h/d/h
                    http://h/d/page?x&y=1&z http://h/d/j%20k http://other/ http://third/x], links(html)
  end

  def test_what_is_no_link
    html = <<~HTML
      <!-- <a href="1"> --><script>"<a href='2'>"</script><style><a href="3"></style><title><a href="4"></title>
      <textarea><a href="5"></textarea><abbr href="6"><a data-href="7" name="x"><link href="8"><a href="mailto:a@b">
      <a href="javascript:x()"><a href="http://[x/"><a rel="me NoFollow" href="9"><template><a href="10"></template>
      </a href="11"><a>
    HTML
    assert_empty links(html)
    assert_equal ["http://h/d/page?q"], links('<a href=""><a href=" ">'), "the page itself"
    assert_equal ["http://h/x"], links("<script>if (a<b) { \"</scr\" }</script ><noscript><a href=/x></noscript>")
  end

  def test_a_base
    assert_equal ["http://b/c/x"], links("<base href='http://b/c/'><base href='http://no/'><a href=x>")
    assert_equal ["http://h/c/x"], links("<a href=x><base href='/c/y'>")
    assert_equal ["http://h/d/x"], links("<base href='ftp://b/'><a href=x>")
  end

  def test_pages_that_want_no_follower
    page = "<a href=x>"
    assert_empty links("<META NAME=ROBOTS CONTENT='noindex, NOFOLLOW'>#{page}")
    assert_empty links("#{page}<meta name=robots content=none>")
    assert_equal 1, links("<meta name=robots content=noindex>#{page}").size
    assert_empty links(page, headers: [["X-Robots-Tag", "nofollow"]])
  end

  def test_only_html
    assert_equal 1, links("<a href=x>", type: "Text/HTML; charset=x").size
    assert_equal 1, links("<a href=x>", type: "application/xhtml+xml").size
    ["text/plain", "text/htmlx", "image/png", nil].each { |type| assert_empty links("<a href=x>", type: type) }
  end

  def test_bytes_of_any_kind
    assert_equal ["http://h/d/%FC"], links("\xFE<a href=\"\xFC\">".b)
    assert_equal ["http://h/d/%C3%BC"], links("<a href=\"\u00fc\">")
    assert_equal ["http://h/d/%C3%BCx"], links("<a href=\"&#252;x&#xD800;&#9999999;\">")
  end

  def test_pages_written_to_hurt
    ["<" * 1_000_000, "<a " * 300_000, "<a href=" * 120_000, "<!--" * 250_000, "<script>" * 120_000, "<a href=\"" * 100_000,
     "<a #{"x=1 " * 200_000}href=y>", "&#" * 400_000, "<a href='#{"&" * 900_000}'>", "<a#{" " * 900_000}",
     "<a x#{" " * 900_000}y"].each do |html|
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      links(html)
      assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before, :<, 30, html[0, 20]
    end
    assert_equal Fetch::Links::MOST, links((0..20_000).map { |n| "<a href=#{n}>" }.join).size
  end

  private

  def links(html, type: "text/html", headers: [])
    result = Fetch::Result.new(status: 200, headers: [*headers, *([["Content-Type", type]] if type)], body: html.b)
    Fetch::Links.of(result, URL).map(&:to_s)
  end
end
