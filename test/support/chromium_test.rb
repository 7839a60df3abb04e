# frozen_string_literal: true

require_relative "../test_helper"
require_relative "chromium"

class ChromiumTest < Minitest::Test
  PAGE = <<~HTML
    <!doctype html><title>t</title><p id="p">no</p>
    <script>document.getElementById("p").textContent = "the script " + "ran"; undefinedFunction();</script>
  HTML

  def setup
    @folder = Dir.mktmpdir("plait-test-")
    @file = File.join(@folder, "a page.html")
    File.write(@file, PAGE)
  end

  def teardown = FileUtils.rm_rf(@folder)

  def test_scripts_run_and_their_errors_are_heard
    page = Support::Chromium.open(@file)
    assert_includes(page.dom, "the script ran")
    assert_match(/undefinedFunction is not defined/, page.errors.join)
  end

  def test_screenshot
    picture = Support::Chromium.screenshot(@file, File.join(@folder, "page.png"))
    assert_equal("\x89PNG".b, File.binread(picture, 4))
  end
end
