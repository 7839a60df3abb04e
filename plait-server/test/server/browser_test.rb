# frozen_string_literal: true

require "test_helper"
require "support/browser"
require "support/root"
require_relative "app_server"

# The examples, as a browser sees them.
class ServerBrowserTest < Minitest::Test
  MECHANISMS = %w[fibers threads hybrid].freeze

  MECHANISMS.each do |mechanism|
    define_method(:"test_a_chat_by_websocket_on_#{mechanism}") do
      serving("websocket", mechanism) do |server, browser|
        ann, bob = Array.new(2) { browser.visit(server.url) }
        [ann, bob].each { |page| await("open") { page.evaluate("document.title") == "Chat: open" } }
        say(ann, "hello, Bob")
        say(bob, "ä" * 20_000)
        [ann, bob].each { |page| await("both lines") { said(page).size == 2 } }
        assert_equal([["hello, Bob", "ä" * 20_000].sort] * 2, [ann, bob].map { |page| said(page).sort })
        assert_too_long_is_refused(ann)
        say(bob, "still here")
        await("a line after somebody has left") { said(bob).include?("still here") }
      end
    end

    define_method(:"test_server_sent_events_on_#{mechanism}") do
      serving("events", mechanism, "EVENTS" => "3") do |server, browser|
        page = browser.visit(server.url)
        # It ends after three, and the browser asks again for what follows.
        await("seven events") { heard(page).size >= 7 }
        assert_equal((1..7).to_a, heard(page).first(7))
      end
    end
  end

  private

  def serving(example, mechanism, variables = {})
    Support::Browser.open do |browser|
      server = AppServer.new(File.join(Support::ROOT, "examples/#{example}.ru"), mechanism, variables: variables).start
      yield server, browser
    ensure
      server&.stop
    end
  end

  def await(what, &block) = wait_until(timeout: 40, what: what, &block)

  def say(page, text)
    page.evaluate("document.getElementById('text').value = #{JSON.generate(text)}; " \
                  "document.getElementById('form').requestSubmit()")
  end

  def said(page) = page.evaluate("[...document.querySelectorAll('#said li')].map((line) => line.textContent)")

  def heard(page) = page.evaluate("document.getElementById('heard')?.textContent || ''").split.map(&:to_i)

  # RFC 6455 §7.4.1: 1009
  def assert_too_long_is_refused(page)
    page.evaluate("socket.send('x'.repeat(100000))")
    await("the end of the connection") { page.evaluate("document.title") == "Chat: closed 1009" }
  end
end
