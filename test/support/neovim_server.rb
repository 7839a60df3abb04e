# frozen_string_literal: true

require_relative "program"
require_relative "server"

module Support
  # A Neovim without a screen and without anybody's configuration, which talks MessagePack-RPC on a TCP port and at
  # {#socket_path}.
  class NeovimServer < Server
    PROGRAM = Program.new("nvim", apt: "neovim", brew: "neovim")

    def url = "tcp://#{host}:#{port}"

    def socket_path = File.join(folder, "nvim.sock")

    private

    def command
      [PROGRAM.path!, "--headless", "-u", "NONE", "-i", "NONE", "-n", "--listen", "#{host}:#{port}",
       "--cmd", "call serverstart('#{socket_path}')"]
    end

    def environment = { "HOME" => folder, "XDG_STATE_HOME" => folder, "XDG_DATA_HOME" => folder }

    def ready? = listening? && File.socket?(socket_path)
  end
end
