# frozen_string_literal: true

require_relative "fresh_ruby"

# What a native parser says of samples while each allocation collects the garbage: in a Ruby that has loaded nothing else, because
# each collection marks all there is.
module Stressed
  # @param transcript [String] path of the file with Transcript
  # @param samples [Array<Array(String, Hash, Array, Hash)>] a name, what is right, and the arguments and options of Transcript.of
  def assert_right_under_stress(transcript, samples)
    result = Support::FreshRuby.run(<<~RUBY, flags: ["--disable=gems"], env: { "RUBYOPT" => nil }, stdin: Marshal.dump(samples))
      require #{transcript.dump}
      Marshal.load($stdin.binmode.read).each do |name, whole, arguments, options|
        GC.stress = true
        stressed = Transcript.of("native", *arguments, **options)
        GC.stress = false
        abort("\#{name}: \#{stressed} instead of \#{whole}") if stressed != whole
      end
      print "all"
    RUBY
    assert_equal(["all", ""], [result.out, result.err])
  end
end
