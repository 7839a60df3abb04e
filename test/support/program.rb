# frozen_string_literal: true

require "minitest"

module Support
  # An outside program that a test needs. Without it the test is skipped, with the one command that installs it.
  class Program
    def self.macos? = RUBY_PLATFORM.include?("darwin")

    # @param names [Array<String>] the first one found is used
    # @param apt [String] its Debian package
    # @param brew [String] its Homebrew formula
    # @param folders [Array<String>] globs of folders to look into besides PATH
    def initialize(*names, apt:, brew: apt, folders: [])
      @names = names
      @apt = apt
      @brew = brew
      @folders = folders
    end

    # @return [String, nil]
    def path = @path ||= candidates.find { |file| File.file?(file) && File.executable?(file) }

    # @return [String]
    # @raise [Minitest::Skip]
    def path! = path || raise(Minitest::Skip, "#{@names.first} is not installed: #{install_command}")

    def install_command = Program.macos? ? "brew install #{@brew}" : "sudo apt-get install -y #{@apt}"

    private

    # Newest version first, where the folders are named by versions; sbin is not in everybody's PATH.
    def candidates
      folders = @folders.flat_map { |glob| Dir[glob].reverse } + ENV["PATH"].split(":") + %w[/usr/sbin /usr/local/sbin]
      @names.flat_map { |name| folders.map { |folder| File.join(folder, name) } }
    end
  end
end
